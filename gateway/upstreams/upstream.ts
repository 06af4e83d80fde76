import type { UpstreamMetrics } from '../metrics/instruments.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { AvailableBlocks } from './available-blocks.ts';
import { Cancelled, type Cancellation } from './transport/cancellation.ts';
import { checkChain } from './transport/check-chain.ts';
import { withoutSecrets } from './transport/credentials.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import type { HttpResponse } from './transport/http-upstream.ts';
import type { MethodGroup } from '../spec/method-group.ts';
import { UnsupportedMethods } from './unsupported-methods.ts';
import { LARGE_RESPONSE_BYTES } from './transport/read-large-response.ts';
import { readResponse } from './transport/read-response.ts';
import { parseResponse, TimedOut, UpstreamFailure, type UpstreamResponse } from './transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from './outcome.ts';
import { Sampler } from './sampling.ts';
import { LatencyScore } from './latency-score.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { openSubscription, type SubscriptionEvents } from './transport/websocket-subscription.ts';
import { upstreamStateOf } from './upstream-state.ts';
import type { UpstreamState } from './upstream-state.ts';
import { withTimeout } from './with-timeout.ts';

/** Whoever had less time, at the end of a long batch, and did not answer has not failed. */
const MIN_FAIR_TIMEOUT_MS = 400;
const SLOW_BATCH_MS = 20;
const SAMPLE_INTERVAL_MS = 1_000;
/** Characters: to write 5 MB takes 5 ms. */
const LARGE_PARAMS = 100_000;

/** One node of a network. It is asked for its chain id before anything else, and never used when that is another's. */
export class Upstream {
  readonly name: string;
  readonly timeoutMs: number;
  readonly priority: number;
  readonly circuit = new CircuitBreaker();
  readonly latencyScore = new LatencyScore();
  readonly methods: UnsupportedMethods;
  readonly sampler = new Sampler(SAMPLE_INTERVAL_MS);
  readonly #slowSampler = new Sampler(SLOW_BATCH_MS);
  readonly blocks: AvailableBlocks;
  readonly limits: UpstreamLimits | undefined;
  readonly metrics: UpstreamMetrics;
  readonly #options: UpstreamOptions;
  readonly #secrets: readonly string[];
  #starting: Promise<unknown> | undefined;
  #hasCheckedChain = false;
  #isOnOtherChain = false;
  #chainCheck: Promise<void> | undefined;
  #respondedAt = -Infinity;
  #id = 0;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.timeoutMs = options.timeoutMs;
    this.priority = options.priority ?? 0;
    this.blocks = new AvailableBlocks(options.archive ?? false);
    this.methods = new UnsupportedMethods(options.name, options.log);
    this.limits = options.limits && new UpstreamLimits(options.limits);
    this.metrics = options.metrics;
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
  async request(
    method: string,
    params: string,
    timeLimitMs: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<UpstreamResponse> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const { metrics } = this;
    const startedAt = performance.now();
    this.limits?.beginRequest(startedAt);
    try {
      const leftMs = this.#hasCheckedChain ? timeLimitMs : await this.#prepare(startedAt + timeLimitMs);
      if (params.length > LARGE_PARAMS) await timeSlicer.next();
      const id = ++this.#id;
      const raw = await this.#send(id, method, params, Math.min(leftMs, this.timeoutMs), cancellation, group);
      const pause = raw.body.length < LARGE_RESPONSE_BYTES ? undefined : timeSlicer.next();
      if (pause !== undefined) await pause;
      const response = readResponse(raw.status, raw.body, id, raw.retryAfter);
      this.#respondedAt = performance.now();
      metrics.succeeded((this.#respondedAt - startedAt) / 1000);
      return response;
    } catch (error) {
      if (error instanceof Cancelled) metrics.failed('cancelled', (performance.now() - startedAt) / 1000);
      if (!(error instanceof UpstreamFailure)) throw error;
      const isSlow = error instanceof TimedOut && this.#respondedAt > startedAt;
      const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while others were answered') : error;
      failure.isCallerTimeout =
        error instanceof TimedOut && timeLimitMs < Math.min(this.timeoutMs, MIN_FAIR_TIMEOUT_MS);
      metrics.failed(failure.failure, (performance.now() - startedAt) / 1000);
      throw failure;
    } finally {
      this.limits?.endRequest();
    }
  }

  /** Whether it has replied to anything since then. */
  hasResponded(since: number): boolean {
    return this.#respondedAt > since;
  }

  /** Whether it belongs to another network, as it said when it was last asked. */
  get isOnOtherChain(): boolean {
    return this.#isOnOtherChain;
  }

  /** What is known of it, for people. Asks nobody. @param now on the clock of performance.now() */
  status(now: number): UpstreamState {
    return upstreamStateOf(this, this.#respondedAt !== -Infinity, this.metrics.history(), now);
  }

  /** Whether a call may go there now, by its health and its limits; one that is on trial gets one at a time. */
  canTakeCall(now: number): boolean {
    if (this.limits?.hasCapacity(now) === false) return false;
    if (this.circuit.isClosed) return true;
    return this.circuit.allowsCall(now);
  }

  /** Its reply was of use. */
  recordSuccess(method: string): void {
    if (!this.circuit.isClosed) this.#options.log.info({ upstream: this.name }, 'upstream is back');
    this.circuit.recordSuccess();
    this.methods.recordSuccess(method);
  }

  /** Its reply was of no use, or none came. @returns whether it was up until now */
  recordFailure(method: string, { failure, response, retryAfterMs }: FailedOutcome, now: number): boolean {
    // Calls that went together took long together.
    if (failure === 'slow' && !this.#slowSampler.isDue('', now)) return false;
    this.methods.recordFailure(method, failure, response !== undefined, now);
    this.latencyScore.recordFailure(failure, now);
    const hasOpened = this.circuit.recordFailure(failure, now, retryAfterMs, response !== undefined);
    if (response !== undefined) this.metrics.unusable(failure);
    // What comes back may be another node.
    if (hasOpened) this.#hasCheckedChain = false;
    return hasOpened;
  }

  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws UpstreamFailure, for an error reply too
   */
  async fetchResult(method: string, params: string): Promise<unknown> {
    const { metrics } = this;
    this.limits?.beginRequest(performance.now());
    try {
      const leftMs = this.#hasCheckedChain ? this.timeoutMs : await this.#prepare(performance.now() + this.timeoutMs);
      const response = parseResponse(await this.#exchange(method, params, leftMs));
      this.#respondedAt = performance.now();
      if (response.kind === 'error') throw new UpstreamFailure('node-state', response.message);
      metrics.polled('response');
      // As good a trial as a caller's call: who stands below one that works may not get any.
      if (!this.circuit.isClosed && this.circuit.isCooldownOver(this.#respondedAt)) this.recordSuccess(method);
      return response.result;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      // What comes back may be another node.
      if (error.failure === 'transport') this.#hasCheckedChain = false;
      metrics.polled(error.failure);
      throw error;
    } finally {
      this.limits?.endRequest();
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
      await withTimeout(started, deadline - performance.now(), timedOut);
      this.#starting = undefined;
    }
    this.#chainCheck ??= this.#checkChain().finally(() => {
      this.#chainCheck = undefined;
    });
    await withTimeout(this.#chainCheck, deadline - performance.now(), timedOut);
    return deadline - performance.now();
  }

  async #checkChain(): Promise<void> {
    const { chainId, timeoutMs } = this.#options;
    this.limits?.beginRequest(performance.now());
    const response = await this.#exchange('eth_chainId', '[]', timeoutMs).finally(() => this.limits?.endRequest());
    try {
      checkChain(response, chainId);
    } catch (error) {
      this.#isOnOtherChain = error instanceof UpstreamFailure && error.failure === 'wrong-chain';
      throw error;
    }
    this.#hasCheckedChain = true;
    this.#isOnOtherChain = false;
  }

  /** A verdict on what it said, fit for callers and the log. */
  withoutSecrets<Kind extends Outcome>(verdict: Kind): Kind {
    const { response } = verdict;
    if (response?.kind !== 'error') return verdict;
    return { ...verdict, response: { ...response, message: withoutSecrets(response.message, this.#secrets) } };
  }

  async #exchange(method: string, params: string, timeLimitMs: number): Promise<UpstreamResponse> {
    const id = ++this.#id;
    const { status, body, retryAfter } = await this.#send(id, method, params, timeLimitMs);
    return readResponse(status, body, id, retryAfter);
  }

  /** @throws UpstreamFailure, Cancelled (or rejects with it) */
  #send(
    id: number,
    method: string,
    params: string,
    timeLimitMs: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<HttpResponse> {
    if (cancellation?.isCancelled === true) throw new Cancelled();
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    return this.#options.transport.exchange(body, timeLimitMs, id, cancellation, group);
  }
}
