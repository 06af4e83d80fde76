import type { UpstreamMeters } from '../metrics/metrics.ts';
import type { UpstreamLimitsConfig } from '../network/network-config.ts';
import type { PassedOver } from './asking.ts';
import { BlocksHeld } from './blocks-held.ts';
import { Cancelled, type Cancellation } from './cancellation.ts';
import { checkChain } from './check-chain.ts';
import { withoutSecrets } from './credentials.ts';
import { readHead, type Head } from './head.ts';
import { Health } from './health.ts';
import { MethodsLacked } from './methods-lacked.ts';
import { readReply } from './read-reply.ts';
import { parsed, TimedOut, UpstreamFailure, type Failed, type Reply, type Verdict } from './reply.ts';
import { Standing } from './standing.ts';
import type { Transport } from './transport.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import { within } from './within.ts';

export interface UpstreamOptions {
  readonly name: string;
  readonly chainId: number;
  readonly transport: Transport;
  /** Time for one attempt. */
  readonly timeoutMs: number;
  readonly priority?: number | undefined;
  readonly archive?: boolean | undefined;
  readonly limits?: UpstreamLimitsConfig | undefined;
  /** A node that we start ourselves: calls wait until it is ready. */
  readonly starting?: Promise<unknown>;
  readonly meters: UpstreamMeters;
}

/** How often the head is looked at, and only when a call has just been answered: an idle network costs nothing. */
const HEAD_AGE_MS = 15_000;

/** It may be asked later, or mended. */
const LACKING_MS = 600_000;

const SAMPLE_EVERY_MS = 1_000;

/** One node of a network. It is asked for its chain id before anything else, and never used when that is another's. */
export class Upstream {
  readonly name: string;
  readonly timeoutMs: number;
  readonly priority: number;
  readonly health = new Health();
  readonly standing = new Standing();
  readonly methods = new MethodsLacked();
  readonly blocks: BlocksHeld;
  readonly limits: UpstreamLimits | undefined;
  head: Head | undefined;
  readonly #options: UpstreamOptions;
  readonly #secrets: readonly string[];
  #starting: Promise<unknown> | undefined;
  #isChainRight = false;
  #isOfOtherChain = false;
  #chainCheck: Promise<void> | undefined;
  #headAskedAt = -Infinity;
  #repliedAt = -Infinity;
  #lacksHistoryUntil = -Infinity;
  readonly #sampledAt = new Map<string, number>();
  #id = 0;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.timeoutMs = options.timeoutMs;
    this.priority = options.priority ?? 0;
    this.blocks = new BlocksHeld(options.archive ?? false);
    this.limits = options.limits && new UpstreamLimits(options.limits);
    this.#options = options;
    this.#secrets = options.transport.secrets;
    this.#starting = options.starting;
  }

  /**
   * Asks one call, and takes note of how it went.
   * @param params as JSON text
   * @throws UpstreamFailure, Cancelled
   */
  async ask(method: string, params: string, limitMs: number, cancellation?: Cancellation): Promise<Reply> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const { meters, timeoutMs } = this.#options;
    const start = performance.now();
    try {
      const left = this.#isChainRight ? limitMs : await this.#prepare(start + limitMs);
      const reply = await this.#exchange(method, params, Math.min(left, timeoutMs), cancellation);
      this.#repliedAt = performance.now();
      meters.answered((this.#repliedAt - start) / 1000);
      return reply;
    } catch (error) {
      if (error instanceof Cancelled) meters.failed('cancelled', (performance.now() - start) / 1000);
      if (!(error instanceof UpstreamFailure)) throw error;
      const isSlow = error instanceof TimedOut && this.#repliedAt > start;
      const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while others were answered') : error;
      meters.failed(failure.failure, (performance.now() - start) / 1000);
      throw failure;
    }
  }

  /** Whether it has replied to anything since then. */
  hasReplied(since: number): boolean {
    return this.#repliedAt > since;
  }

  /** Whether it belongs to another network, as it said when it was last asked. */
  get isOfOtherChain(): boolean {
    return this.#isOfOtherChain;
  }

  /** Whether a call may go there now, by its health and its limits; one that is on trial gets one at a time. */
  mayBeAsked(now: number): boolean {
    if (this.limits?.hasRoom(now) === false) return false;
    if (this.health.isUp) return true;
    const isOnTrial = this.health.letsThrough(now);
    if (isOnTrial) this.#options.meters.breaker('half-open');
    return isOnTrial;
  }

  wasPassedOver(reason: PassedOver): void {
    this.#options.meters.passedOver(reason);
  }

  /** It said that it does not have a part of the chain. */
  saidToLackHistory(now: number): void {
    this.#lacksHistoryUntil = now + LACKING_MS;
  }

  /** Whether it said of late that it does not have all of the chain, or has not indexed it. */
  get lacksHistory(): boolean {
    return performance.now() < this.#lacksHistoryUntil;
  }

  /** Looks at the head in the background when the last look is old. */
  refreshHead(now: number): void {
    if (now - this.#headAskedAt >= HEAD_AGE_MS) this.learnHead(now).catch(ignore);
  }

  /** Whether one of its results is to be looked at more closely: one a second of each method. */
  isSampled(method: string, now: number): boolean {
    if (now - (this.#sampledAt.get(method) ?? -Infinity) < SAMPLE_EVERY_MS) return false;
    this.#sampledAt.set(method, now);
    return true;
  }

  /** One of its results is not as the spec says. */
  deviates(method: string): void {
    this.#options.meters.deviates(method);
  }

  /** Its reply was of use. Looks at the head in the background when the last look is old. */
  succeeded(method: string, now: number): void {
    if (!this.health.isUp) this.#tellState(true);
    this.health.succeeded();
    this.methods.answered(method);
    this.refreshHead(now);
  }

  /** Its reply was of no use, or none came. @returns whether it was up until now */
  failed(method: string, { failure, reply, retryAfterMs }: Failed, now: number): boolean {
    this.methods.failed(method, failure, reply !== undefined);
    this.standing.failed(failure, now);
    const goesDown = this.health.failed(failure, now, retryAfterMs, reply !== undefined);
    this.#tellState(this.health.isUp);
    if (reply !== undefined) this.#options.meters.unusable(failure);
    if (failure === 'wrong-chain') this.#isOfOtherChain = true;
    // What comes back may be another node.
    if (goesDown) this.#isChainRight = false;
    return goesDown;
  }

  #tellState(isUp: boolean): void {
    this.#options.meters.up(isUp);
    this.#options.meters.breaker(isUp ? 'closed' : 'open');
  }

  /** @throws UpstreamFailure */
  async learnHead(now: number): Promise<Head> {
    this.#headAskedAt = now;
    const reply = parsed(await this.ask('eth_getBlockByNumber', '["latest",false]', this.#options.timeoutMs));
    const head = reply.kind === 'result' ? readHead(reply.result, performance.now()) : undefined;
    if (head === undefined) throw new UpstreamFailure('node-state', 'the latest block is not to be had');
    this.head = head;
    this.#options.meters.head(Number(head.number));
    return head;
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }

  /**
   * Waits for a node of ours to start, and checks the chain id; one check serves all who wait.
   * @returns the time that is left
   */
  async #prepare(deadline: number): Promise<number> {
    const timedOut = (): UpstreamFailure => new TimedOut();
    if (this.#starting !== undefined) {
      const started = this.#starting.catch(() => {
        throw new UpstreamFailure('transport', 'the local node did not start');
      });
      await within(started, deadline - performance.now(), timedOut);
      this.#starting = undefined;
    }
    this.#chainCheck ??= this.#checkChain().finally(() => {
      this.#chainCheck = undefined;
    });
    await within(this.#chainCheck, deadline - performance.now(), timedOut);
    return deadline - performance.now();
  }

  async #checkChain(): Promise<void> {
    const { chainId, timeoutMs } = this.#options;
    const reply = await this.#exchange('eth_chainId', '[]', timeoutMs);
    checkChain(reply, chainId);
    this.#isChainRight = true;
    this.#isOfOtherChain = false;
  }

  /**
   * A verdict on what it said, fit for callers and the log: nodes and proxies between may name the address that they
   * were asked at, and a provider's key is in it.
   */
  withoutSecrets<Kind extends Verdict>(verdict: Kind): Kind {
    const { reply } = verdict;
    if (reply?.kind !== 'error') return verdict;
    return { ...verdict, reply: { ...reply, message: withoutSecrets(reply.message, this.#secrets) } };
  }

  async #exchange(method: string, params: string, limitMs: number, cancellation?: Cancellation): Promise<Reply> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const id = ++this.#id;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    const { limits } = this;
    limits?.began(performance.now());
    try {
      const {
        status,
        body: said,
        retryAfter,
      } = await this.#options.transport.exchange(body, limitMs, id, cancellation);
      return readReply(status, said, id, retryAfter);
    } finally {
      limits?.ended();
    }
  }
}

function ignore(): void {
  // A look at the head that failed is counted; the next call looks again.
}
