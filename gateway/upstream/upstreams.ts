import type { Log } from '../config/log.ts';
import type { NetworkHeads } from '../heads/network-heads.ts';
import type { RoutingMeters } from '../metrics/routing-metrics.ts';
import type { ConfirmNull } from '../network/network-config.ts';
import { askingOf, type Asking, type AskedCall } from './asking.ts';
import { Attempts, LEAST_TIME_MS, type Judge, type ResultCheck } from './attempts.ts';
import { backOff } from './back-off.ts';
import { BlockGasLimit } from './block-gas-limit.ts';
import { namedBlocks } from './blocks-held.ts';
import type { CallQueue } from './call-queue.ts';
import { Choice } from './choice.ts';
import { doubtsNull } from './doubt-null.ts';
import { exhausted, unsupported } from './exhausted.ts';
import { isAboveHead } from './no-such-block.ts';
import { HedgeDelay } from './hedge-delay.ts';
import { Race, type RaceOptions } from './race.ts';
import { UpstreamFailure, type Failed, type Reply, type Verdict } from './reply.ts';
import { RetryBudget } from './retry-budget.ts';
import { Sampling } from './sampling.ts';
import { SentTransactions } from './sent-transactions.ts';
import { ServedBlocks, type NumberIn, type OnTold } from './served-blocks.ts';
import type { Upstream } from './upstream.ts';

export interface UpstreamsOptions {
  readonly judge: Judge;
  readonly check: ResultCheck;
  readonly numberIn: NumberIn;
  readonly onTold: OnTold;
  readonly confirmNull: ConfirmNull;
  /** A chain of one developer, whose node may answer with an error and mine the transaction all the same. */
  readonly isDevelopment: boolean;
  readonly hedgeAfterMs: number | undefined;
  readonly maxLagBlocks: number | undefined;
  readonly meters: RoutingMeters;
  readonly heads: NetworkHeads;
  readonly log: Log;
  /** Of the same network before its file was changed. */
  readonly before?: Upstreams | undefined;
}

/** An error that no rule knows gets one more try elsewhere, then it is passed on. */
const UNKNOWN_ERRORS_MAX = 2;
/** Where all upstreams are marked as lacking a method, one of them is asked once in so much time. */
const TRIAL_EVERY_MS = 10_000;

/** The nodes of one network, and how a call gets from one to the next. */
export class Upstreams {
  readonly all: readonly Upstream[];
  readonly gasLimit: BlockGasLimit;
  readonly #options: UpstreamsOptions;
  readonly #sent: SentTransactions;
  readonly #heads: NetworkHeads;
  readonly #served: ServedBlocks<Upstream>;
  readonly #choice: Choice;
  readonly #trials = new Sampling(TRIAL_EVERY_MS);
  readonly #attempts: Attempts;
  readonly #budget: RetryBudget;
  readonly #hedgeDelay: HedgeDelay | undefined;
  readonly #race: RaceOptions;

  /** @param all as the network's file has them */
  constructor(all: readonly Upstream[], options: UpstreamsOptions) {
    const { judge, check, isDevelopment, hedgeAfterMs, maxLagBlocks, meters, heads, before, log } = options;
    this.all = all;
    this.#options = options;
    this.#sent = new SentTransactions({ log, all, isDevelopment }, before === undefined ? undefined : before.#sent);
    this.#heads = heads;
    this.#served =
      before === undefined ? new ServedBlocks<Upstream>(heads, options.numberIn, options.onTold) : before.#served;
    this.#choice = new Choice(
      all,
      heads,
      this.#served,
      maxLagBlocks,
      before === undefined ? undefined : before.#choice,
    );
    this.#budget = before === undefined ? new RetryBudget() : before.#budget;
    const delayBefore = before === undefined ? undefined : before.#hedgeDelay;
    if (hedgeAfterMs !== undefined && all.length > 1) this.#hedgeDelay = new HedgeDelay(hedgeAfterMs, delayBefore);
    this.#attempts = new Attempts({
      judge,
      check,
      sent: this.#sent,
      mayRepeat: (now) => all.length === 1 && this.#mayRetry(now),
      onLack: (upstream, asking, now) => {
        if (asking.method.looksUpHash === true) upstream.blocks.saidToLackHistory(now);
        if (asking.blocks !== undefined) {
          upstream.blocks.saidToLack(asking.method.name, asking.blocks, this.#heads.number, now);
        }
      },
      onReply: (upstream, asking, reply, ms, now) => {
        this.#replied(upstream, asking, reply, ms, now);
      },
      log,
    });
    this.gasLimit = new BlockGasLimit({
      heads,
      all,
      next: (asking, now) => this.#choice.next(asking, now),
      onFailed: (upstream, method, error) => void this.#attempts.failed(upstream, method, error),
    });
    this.#race = {
      attempt: (upstream, asking, cancellation, isHedge) =>
        this.#attempts.make(upstream, asking, cancellation, isHedge),
      second: (asking) => this.#second(asking),
      isSure: ({ upstream, verdict }, asking) => verdict.final && !this.#doubts(asking, verdict.reply, upstream),
      onHedged: (isWon) => {
        meters.hedged(isWon ? 'won' : 'lost');
      },
      onLost: (upstream, { method, group }, startedAt) => {
        const now = performance.now();
        upstream.standing.replied(group, now - startedAt, now);
        // Broken off, it never times out: without this, one that is gone would have to be hedged for ever.
        if (upstream.hasReplied(startedAt)) return;
        this.#attempts.failed(upstream, method.name, new UpstreamFailure('slow', 'another one was quicker'));
      },
    };
  }

  /**
   * Asks one upstream after the other until one gives the last word.
   * @param queue that it has entered, and leaves then
   * @throws RpcError when none could answer, Cancelled
   */
  async ask(call: AskedCall, queue?: CallQueue): Promise<Reply> {
    try {
      const { method, deadline } = call;
      const isMarked = this.#isLackedByAll(method.name);
      if (isMarked && !this.#trials.isDue(method.name, performance.now())) return unsupported(method);
      const blocks = this.all.length > 1 ? namedBlocks(method, call.params) : undefined;
      const taker = this.#sent.takerFor(method.name, call.params);
      const asking = askingOf(call, blocks, isMarked ? this.#choice.longestMarked(method.name) : taker);
      let doubted: Reply | undefined;
      for (;;) {
        const now = performance.now();
        if (asking.asked.length === 0) this.#budget.called(now);
        const upstream = this.#next(asking, now);
        if (doubted !== undefined && upstream?.health.isUp !== true) return this.#served.agreed(asking, doubted);
        if (upstream === undefined) return exhausted(asking, this.all, this.latest, now);
        if (asking.asked.length > 0 && doubted === undefined) this.#options.meters.failedOver(upstream.name);
        asking.asked.push(upstream);
        if (asking.failed.length > 0 && !upstream.health.isUp) await backOff(asking.failed.length, deadline - now);
        const { isUp } = upstream.health;
        const hedgeMs = this.#hedgeDelay?.of(asking, upstream, deadline - now);
        let by = upstream;
        let verdict: Verdict;
        if (hedgeMs === undefined) verdict = await this.#attempts.make(upstream, asking, asking.cancellation);
        else ({ upstream: by, verdict } = await Race.run(upstream, hedgeMs, asking, this.#race));
        if (verdict.final) {
          const reply = doubted === undefined ? verdict.reply : this.#served.better(doubted, verdict.reply);
          const isDoubted =
            doubted === undefined ? this.#doubts(asking, reply, by) : this.#served.isOlder(asking, reply);
          if (!isDoubted) return this.all.length > 1 ? this.#served.notBelow(method, reply) : reply;
          doubted = reply;
          continue;
        }
        // Whom we asked for a second opinion had none.
        if (doubted !== undefined) return doubted;
        const isLastResort = !isUp && verdict.reply === undefined;
        asking.failed = [...asking.failed, isLastResort ? { ...verdict, wasDown: true } : verdict];
        const response = this.#responseAfter(asking, by, verdict);
        if (response !== undefined) return response;
      }
    } finally {
      queue?.leave();
    }
  }

  /** The network's head, as it was looked at last. */
  get head(): unknown {
    return this.#heads.head;
  }

  /** The number of the newest block that callers may know of. */
  get latest(): bigint {
    return this.#served.latest;
  }

  #isLackedByAll(method: string): boolean {
    for (const { methods } of this.all) if (!methods.hasNot(method)) return false;
    return true;
  }

  /** The response where a failure shows that to ask another upstream is useless. */
  #responseAfter(asking: Asking, by: Upstream, { failure, reply }: Failed): Reply | undefined {
    const { method } = asking;
    if (failure === 'no-block' && !method.nullable)
      return isAboveHead(asking, by, this.all, this.#heads, this.#served) ? reply : undefined;
    if (failure !== 'unsupported' || !this.#isLackedByAll(method.name)) return undefined;
    const now = performance.now();
    this.#trials.isDue(method.name, now);
    return exhausted(asking, this.all, this.latest, now);
  }

  /** Whom to ask, if anybody: there is time for it, it may change the outcome, and the budget allows it. */
  #next(asking: Asking, now: number): Upstream | undefined {
    const { asked, failed, deadline, method } = asking;
    const isFirst = asked.length === 0;
    if (deadline - now <= (isFirst ? 0 : LEAST_TIME_MS)) return undefined;
    if (failed.length > 1 && failed.filter(({ failure }) => failure === 'unknown').length >= UNKNOWN_ERRORS_MAX) {
      return undefined;
    }
    const upstream = this.#choice.next(asking, now);
    if (isFirst || upstream === undefined) return upstream;
    if (upstream.health.isUp || method.sends === true) {
      this.#budget.note();
      return upstream;
    }
    if (this.#mayRetry(now)) return upstream;
    asking.observer?.refused('retry');
    // One that works may come after it, marked or not.
    return this.#choice.working(asking, now);
  }

  #mayRetry(now: number): boolean {
    const mayRetry = this.#budget.draw(now);
    if (!mayRetry) this.#options.meters.refused('retry');
    return mayRetry;
  }

  #second(asking: Asking): Upstream | undefined {
    const now = performance.now();
    const upstream = this.#choice.second(asking, now);
    if (upstream === undefined) return undefined;
    if (!this.#budget.draw(now)) {
      this.#options.meters.refused('hedge');
      asking.observer?.refused('hedge');
      return undefined;
    }
    this.#options.meters.hedged('started');
    asking.asked.push(upstream);
    return upstream;
  }

  #doubts(asking: Asking, reply: Reply, by: Upstream): boolean {
    if (this.all.length === 1) return false;
    if (this.#served.isOlder(asking, reply)) return true;
    const isBehind = (): boolean => by.blocks.lacksHistory || this.#served.lags(by);
    return doubtsNull(this.#options.confirmNull, asking.method, reply, isBehind, () => this.#served.knows(asking));
  }

  #replied(upstream: Upstream, asking: Asking, reply: Reply, ms: number, now: number): void {
    if (this.all.length > 1) {
      upstream.standing.replied(asking.group, ms, now);
      this.#hedgeDelay?.add(asking.method.name, ms, now);
    }
    this.#heads.used(now);
    this.#served.gave(upstream, asking, reply, now);
  }
}
