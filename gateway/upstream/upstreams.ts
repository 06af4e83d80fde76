import type { Log } from '../config/log.ts';
import type { NetworkHeads } from '../heads/network-heads.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { ConfirmNull } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { doubtsNull } from './doubt-null.ts';
import { exhausted, unsupported } from './exhausted.ts';
import {
  parsed,
  UpstreamFailure,
  type Failed,
  type Final,
  type FollowUp,
  type LargeReply,
  type Reply,
  type ResultReply,
  type Verdict,
} from './reply.ts';
import { SentTransactions } from './sent-transactions.ts';
import type { Upstream } from './upstream.ts';
import { within } from './within.ts';

/** The rules that a reply is held against: pure, and made elsewhere (`normalise/`). */
export type Judge = (method: MethodSpec, params: readonly unknown[], reply: Reply) => Verdict;

/** Where a result is not as the spec says, if anywhere; made elsewhere too (`spec/`). */
export type ResultCheck = (method: string, result: unknown) => string | undefined;

export interface UpstreamsOptions {
  readonly judge: Judge;
  readonly check: ResultCheck;
  readonly confirmNull: ConfirmNull;
  readonly heads: NetworkHeads;
  readonly log: Log;
  /** Of the same network before its file was changed. */
  readonly before?: Upstreams | undefined;
}

/** An error that no rule knows gets one more try elsewhere, then it is passed on. */
const UNKNOWN_ERRORS_MAX = 2;

/** A further attempt in less time would only make a good upstream look bad. */
const LEAST_TIME_MS = 10;

/** The nodes of one network, best first, and how a call gets from one to the next. */
export class Upstreams {
  readonly all: readonly Upstream[];
  readonly #judge: Judge;
  readonly #check: ResultCheck;
  readonly #log: Log;
  readonly #confirmNull: ConfirmNull;
  readonly #heads: NetworkHeads;
  readonly #sent: SentTransactions;
  #learning: Promise<bigint> | undefined;

  constructor(all: readonly Upstream[], { judge, check, confirmNull, heads, log, before }: UpstreamsOptions) {
    this.all = all;
    this.#judge = judge;
    this.#check = check;
    this.#log = log;
    this.#confirmNull = confirmNull;
    this.#heads = heads;
    this.#sent = new SentTransactions(log, all, before === undefined ? undefined : before.#sent);
  }

  /**
   * Asks one upstream after the other until one gives the last word.
   * @param deadline on the clock of performance.now()
   * @throws RpcError when none could answer
   */
  async ask(method: MethodSpec, params: readonly unknown[], deadline: number): Promise<Reply> {
    // Nobody is asked for what all of them have said they lack.
    if (this.all.every((upstream) => upstream.lacks(method.name))) return unsupported(method);
    const text = JSON.stringify(params);
    const asked: Upstream[] = [];
    const failed: Failed[] = [];
    const preferred = this.#sent.takerFor(method.name, params);
    let unknown = 0;
    let doubted: Reply | undefined;
    for (;;) {
      const now = performance.now();
      const hasTime = deadline - now > (asked.length === 0 ? 0 : LEAST_TIME_MS);
      const upstream =
        hasTime && unknown < UNKNOWN_ERRORS_MAX ? this.#choose(method.name, asked, now, preferred) : undefined;
      if (doubted !== undefined && upstream?.health.isUp !== true) return doubted;
      if (upstream === undefined) return exhausted(method, failed);
      asked.push(upstream);
      const verdict = await this.#attempt(upstream, method, params, text, deadline);
      if (verdict.final) {
        const { reply } = verdict;
        const isBehind = (): boolean => upstream.lacksHistory || this.#heads.lagOf(upstream) > 0;
        const hasOthers = this.all.length > 1;
        if (doubted !== undefined || !hasOthers || !doubtsNull(this.#confirmNull, method, reply, isBehind))
          return reply;
        doubted = reply;
        continue;
      }
      // Whom we asked for a second opinion had none.
      if (doubted !== undefined) return doubted;
      failed.push(verdict);
      if (verdict.failure === 'unknown') unknown++;
      if (verdict.failure === 'node-state' && method.nullWhenUnsupported) upstream.saidToLackHistory(now);
    }
  }

  /**
   * The gas limit of the newest block seen; learned first when none was seen yet.
   * @param deadline on the clock of performance.now()
   * @throws RpcError when no upstream tells it in time
   */
  async blockGasLimit(deadline: number): Promise<bigint> {
    const known = this.#heads.gasLimit(performance.now());
    if (known !== undefined) return known;
    this.#learning ??= this.#learnGasLimit().finally(() => {
      this.#learning = undefined;
    });
    return within(this.#learning, deadline - performance.now(), () => new RpcError('no-upstream'));
  }

  /** For people and probes: how many there are, and how many answered when last asked. */
  summary(): { upstreams: number; up: number } {
    return { upstreams: this.all.length, up: this.all.filter(({ health }) => health.isUp).length };
  }

  async #attempt(
    upstream: Upstream,
    method: MethodSpec,
    params: readonly unknown[],
    text: string,
    deadline: number,
  ): Promise<Verdict> {
    let verdict: Verdict;
    try {
      verdict = this.#judge(method, params, await this.#askOnce(upstream, method.name, text, deadline));
    } catch (error) {
      return this.#failed(upstream, method.name, error);
    }
    verdict = upstream.withoutSecrets(verdict);
    if (method.sends === true) verdict = await this.#sent.settle(upstream, String(params[0]), verdict, deadline);
    if (!verdict.final) this.#note(upstream, method.name, verdict, wordsOf(verdict.reply));
    else this.#succeeded(upstream, method.name, verdict.reply);
    return verdict.final && verdict.followUp !== undefined
      ? this.#complete(upstream, verdict, verdict.followUp, deadline)
      : verdict;
  }

  /** Asks the same node for what it left out. Where that comes to nothing, the reply stays as it is. */
  async #complete(upstream: Upstream, verdict: Final, { method, params, complete }: FollowUp, deadline: number) {
    const left = deadline - performance.now();
    if (left < LEAST_TIME_MS) return verdict;
    try {
      const said = parsed(await upstream.ask(method, JSON.stringify(params), left));
      return upstream.withoutSecrets({ final: true, reply: complete(said) } as const);
    } catch (error) {
      if (error instanceof UpstreamFailure) return verdict;
      throw error;
    }
  }

  /** Sends again when a kept-alive connection turned out to be closed and there is nobody else to ask. */
  async #askOnce(upstream: Upstream, method: string, text: string, deadline: number): Promise<Reply> {
    try {
      return await upstream.ask(method, text, deadline - performance.now());
    } catch (error) {
      const again = error instanceof UpstreamFailure && error.staleConnection && this.all.length === 1;
      if (!again) throw error;
      return upstream.ask(method, text, deadline - performance.now());
    }
  }

  async #learnGasLimit(): Promise<bigint> {
    const asked: Upstream[] = [];
    for (;;) {
      const now = performance.now();
      const upstream = this.#choose('eth_getBlockByNumber', asked, now);
      if (upstream === undefined) throw new RpcError('no-upstream');
      asked.push(upstream);
      try {
        const block = await this.#heads.look(upstream);
        if (block !== undefined) return block.gasLimit;
        throw new UpstreamFailure('node-state', 'the latest block is not to be had');
      } catch (error) {
        this.#failed(upstream, 'eth_getBlockByNumber', error);
      }
    }
  }

  /**
   * The preferred one, then the first in the file, that is not resting and has the method; when there is none, the
   * first that was not asked yet.
   */
  #choose(method: string, asked: readonly Upstream[], now: number, preferred?: Upstream): Upstream | undefined {
    if (preferred !== undefined && !asked.includes(preferred) && preferred.health.letsThrough(now)) return preferred;
    let lastResort: Upstream | undefined;
    for (const upstream of this.all) {
      if (asked.includes(upstream)) continue;
      if (!upstream.isPassedOverFor(method) && upstream.health.letsThrough(now)) return upstream;
      if (!upstream.isOfOtherChain) lastResort ??= upstream;
    }
    return lastResort;
  }

  #failed(upstream: Upstream, method: string, error: unknown): Verdict {
    if (!(error instanceof UpstreamFailure)) throw error;
    const { failure, retryAfterMs, message } = error;
    const verdict: Verdict = { final: false, failure, reply: undefined, retryAfterMs };
    this.#note(upstream, method, verdict, message);
    return verdict;
  }

  /** When the answer is on its way: a full block takes milliseconds. */
  #inspect(upstream: Upstream, method: string, reply: ResultReply | LargeReply): void {
    const result = reply.kind === 'large' ? (JSON.parse(reply.parts.join('')) as unknown) : reply.result;
    const detail = this.#check(method, result);
    if (detail === undefined) return;
    upstream.deviates(method);
    this.#log.debug({ upstream: upstream.name, method, detail }, 'a result is not as the spec says');
  }

  #note(upstream: Upstream, method: string, failed: Failed, detail: string): void {
    const { failure } = failed;
    const goesDown = upstream.failed(method, failed, performance.now());
    this.#log[goesDown ? 'warn' : 'debug']({ upstream: upstream.name, failure, detail }, 'upstream failed');
  }

  #succeeded(upstream: Upstream, method: string, reply: Reply): void {
    if (!upstream.health.isUp) this.#log.info({ upstream: upstream.name }, 'upstream is back');
    const now = performance.now();
    upstream.succeeded();
    this.#heads.used(now);
    // What a caller was told of the head is not to be taken back by another upstream.
    if (method === 'eth_blockNumber' && reply.kind === 'result') this.#heads.saw(upstream, String(reply.result), now);
    if (reply.kind !== 'error' && upstream.isSampled(method, now)) {
      setImmediate(() => {
        this.#inspect(upstream, method, reply);
      });
    }
  }
}

/** What a node said is text from outside: a line of it, and no addresses. */
function wordsOf(reply: Reply | undefined): string {
  if (reply?.kind !== 'error') return 'an impossible result';
  return `${reply.code} ${reply.message.slice(0, 200).replace(/https?:\/\/\S+/g, '<url>')}`;
}
