import type { UpstreamMeters } from '../metrics/meters.ts';
import { slices } from '../slices.ts';
import { BlocksHeld } from './blocks-held.ts';
import { Cancelled, type Cancellation } from './cancellation.ts';
import { checkChain } from './check-chain.ts';
import { withoutSecrets } from './credentials.ts';
import { Health } from './health.ts';
import type { HttpReply } from './http-upstream.ts';
import type { MethodGroup } from './method-group.ts';
import { MethodsLacked } from './methods-lacked.ts';
import { LARGE_BYTES } from './read-large.ts';
import { readReply } from './read-reply.ts';
import { parsed, TimedOut, UpstreamFailure, type Failed, type Reply, type Verdict } from './reply.ts';
import { Sampling } from './sampling.ts';
import { Standing } from './standing.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { openSubscription, type SubscriptionEvents } from './websocket-subscription.ts';
import { stateOf, type UpstreamState } from './status.ts';
import { within } from './within.ts';

/** Whoever had less time, at the end of a long batch, and did not answer has not failed. */
const FAIR_MS = 400;
const TOGETHER_MS = 20;
const SAMPLE_EVERY_MS = 1_000;
/** Characters: to write 5 MB takes 5 ms. */
const LARGE_PARAMS = 100_000;

/** One node of a network. It is asked for its chain id before anything else, and never used when that is another's. */
export class Upstream {
  readonly name: string;
  readonly timeoutMs: number;
  readonly priority: number;
  readonly health = new Health();
  readonly standing = new Standing();
  readonly methods: MethodsLacked;
  readonly sampling = new Sampling(SAMPLE_EVERY_MS);
  readonly #slowness = new Sampling(TOGETHER_MS);
  readonly blocks: BlocksHeld;
  readonly limits: UpstreamLimits | undefined;
  readonly meters: UpstreamMeters;
  readonly #options: UpstreamOptions;
  readonly #secrets: readonly string[];
  #starting: Promise<unknown> | undefined;
  #isChainRight = false;
  #isOfOtherChain = false;
  #chainCheck: Promise<void> | undefined;
  #repliedAt = -Infinity;
  #id = 0;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.timeoutMs = options.timeoutMs;
    this.priority = options.priority ?? 0;
    this.blocks = new BlocksHeld(options.archive ?? false);
    this.methods = new MethodsLacked(options.name, options.log);
    this.limits = options.limits && new UpstreamLimits(options.limits);
    this.meters = options.meters;
    this.#options = options;
    this.#secrets = options.transport.secrets;
    this.#starting = options.starting;
  }

  /**
   * Asks one call, and takes note of how it went.
   * @param params as JSON text
   * @param group of the method, where it may go together with others
   * @throws UpstreamFailure, Cancelled
   */
  async ask(
    method: string,
    params: string,
    limitMs: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<Reply> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const { meters } = this;
    const start = performance.now();
    this.limits?.began(start);
    try {
      const left = this.#isChainRight ? limitMs : await this.#prepare(start + limitMs);
      if (params.length > LARGE_PARAMS) await slices.next();
      const id = ++this.#id;
      const said = await this.#send(id, method, params, Math.min(left, this.timeoutMs), cancellation, group);
      const turn = said.body.length < LARGE_BYTES ? undefined : slices.next();
      if (turn !== undefined) await turn;
      const reply = readReply(said.status, said.body, id, said.retryAfter);
      this.#repliedAt = performance.now();
      meters.answered((this.#repliedAt - start) / 1000);
      return reply;
    } catch (error) {
      if (error instanceof Cancelled) meters.failed('cancelled', (performance.now() - start) / 1000);
      if (!(error instanceof UpstreamFailure)) throw error;
      const isSlow = error instanceof TimedOut && this.#repliedAt > start;
      const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while others were answered') : error;
      failure.isCutShort = error instanceof TimedOut && limitMs < Math.min(this.timeoutMs, FAIR_MS);
      meters.failed(failure.failure, (performance.now() - start) / 1000);
      throw failure;
    } finally {
      this.limits?.ended();
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

  /** What is known of it, for people. Asks nobody. @param now on the clock of performance.now() */
  status(now: number): UpstreamState {
    return stateOf(this, this.#repliedAt !== -Infinity, this.meters.history(), now);
  }

  /** Whether a call may go there now, by its health and its limits; one that is on trial gets one at a time. */
  mayBeAsked(now: number): boolean {
    if (this.limits?.hasRoom(now) === false) return false;
    if (this.health.isUp) return true;
    return this.health.letsThrough(now);
  }

  /** Its reply was of use. */
  succeeded(method: string): void {
    if (!this.health.isUp) this.#options.log.info({ upstream: this.name }, 'upstream is back');
    this.health.succeeded();
    this.methods.answered(method);
  }

  /** Its reply was of no use, or none came. @returns whether it was up until now */
  failed(method: string, { failure, reply, retryAfterMs }: Failed, now: number): boolean {
    // Calls that went together took long together.
    if (failure === 'slow' && !this.#slowness.isDue('', now)) return false;
    this.methods.failed(method, failure, reply !== undefined, now);
    this.standing.failed(failure, now);
    const goesDown = this.health.failed(failure, now, retryAfterMs, reply !== undefined);
    if (reply !== undefined) this.meters.unusable(failure);
    // What comes back may be another node.
    if (goesDown) this.#isChainRight = false;
    return goesDown;
  }

  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws UpstreamFailure, for an error reply too
   */
  async resultOf(method: string, params: string): Promise<unknown> {
    const { meters } = this;
    this.limits?.began(performance.now());
    try {
      const left = this.#isChainRight ? this.timeoutMs : await this.#prepare(performance.now() + this.timeoutMs);
      const reply = parsed(await this.#exchange(method, params, left));
      this.#repliedAt = performance.now();
      if (reply.kind === 'error') throw new UpstreamFailure('node-state', reply.message);
      meters.polled('reply');
      // As good a trial as a caller's call: who stands below one that works may not get any.
      if (!this.health.isUp && this.health.isRestOver(this.#repliedAt)) this.succeeded(method);
      return reply.result;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      // What comes back may be another node.
      if (error.failure === 'transport') this.#isChainRight = false;
      meters.polled(error.failure);
      throw error;
    } finally {
      this.limits?.ended();
    }
  }

  /** Has the node tell of what is new. Undefined where it has no WebSocket. */
  subscribe(params: string, events: SubscriptionEvents): { close(): void } | undefined {
    const { webSocket, chainId, timeoutMs } = this.#options;
    const nextId = (): number => ++this.#id;
    return webSocket && openSubscription(webSocket, { chainId, params, timeoutMs, nextId }, events);
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.transport.close(), this.#options.webSocket?.close()]);
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
    this.limits?.began(performance.now());
    const reply = await this.#exchange('eth_chainId', '[]', timeoutMs).finally(() => this.limits?.ended());
    try {
      checkChain(reply, chainId);
    } catch (error) {
      this.#isOfOtherChain = error instanceof UpstreamFailure && error.failure === 'wrong-chain';
      throw error;
    }
    this.#isChainRight = true;
    this.#isOfOtherChain = false;
  }

  /** A verdict on what it said, fit for callers and the log. */
  withoutSecrets<Kind extends Verdict>(verdict: Kind): Kind {
    const { reply } = verdict;
    if (reply?.kind !== 'error') return verdict;
    return { ...verdict, reply: { ...reply, message: withoutSecrets(reply.message, this.#secrets) } };
  }

  async #exchange(method: string, params: string, limitMs: number): Promise<Reply> {
    const id = ++this.#id;
    const { status, body, retryAfter } = await this.#send(id, method, params, limitMs);
    return readReply(status, body, id, retryAfter);
  }

  /** @throws UpstreamFailure, Cancelled (or rejects with it) */
  #send(
    id: number,
    method: string,
    params: string,
    limitMs: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<HttpReply> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    return this.#options.transport.exchange(body, limitMs, id, cancellation, group);
  }
}
