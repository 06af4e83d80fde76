import type { UpstreamMetrics } from '../metrics/instruments.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { AvailableBlocks } from './available-blocks.ts';
import { Cancelled, type Cancellation } from './transport/cancellation.ts';
import { checkChain } from './transport/check-chain.ts';
import { Secrets } from './transport/credentials.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import type { HttpResponse } from './transport/http-upstream.ts';
import type { MethodGroup } from '../spec/method-group.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { UnsupportedMethods } from './unsupported-methods.ts';
import { LARGE_RESPONSE_BYTES } from './transport/read-large-response.ts';
import { readResponse } from './transport/read-response.ts';
import { parseResponse, TimedOut, UpstreamFailure, type UpstreamResponse } from './transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from './outcome.ts';
import { Sampler } from './sampling.ts';
import { LatencyScore } from './latency-score.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import { permitsMethod } from '../network-files/method-upstreams.ts';
import type { FixedUpstreamOptions, LiveUpstreamOptions } from '../network-files/network-config.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { openSubscription, type SubscriptionEvents } from './transport/websocket-subscription.ts';
import { upstreamStateOf, type UpstreamState } from './upstream-state.ts';
import { isCallerTimeout, withTimeout } from './with-timeout.ts';

/** Slow calls within this time count once. */
const SLOW_SAMPLE_INTERVAL_MS = 20;
const SAMPLE_INTERVAL_MS = 1_000;
/** Writing 5 MB takes 5 ms. */
const LARGE_PARAMS_CHARS = 100_000;

/** One endpoint of a network: checks its chain id, sends requests and records outcomes. It does not select or retry. */
export class Upstream {
  readonly name: string;
  /** A reload sets it. */
  config: LiveUpstreamOptions;
  readonly circuit = new CircuitBreaker();
  readonly latencyScore = new LatencyScore();
  readonly methods: UnsupportedMethods;
  readonly sampler = new Sampler(SAMPLE_INTERVAL_MS);
  readonly #slowSampler = new Sampler(SLOW_SAMPLE_INTERVAL_MS);
  readonly blocks: AvailableBlocks;
  readonly limits: UpstreamLimits | undefined;
  readonly metrics: UpstreamMetrics;
  readonly #options: UpstreamOptions;
  readonly #secrets: Secrets;
  #localNodeStart: Promise<unknown> | undefined;
  #hasCheckedChain = false;
  /** Whether the last check returned the chain id of another network. */
  isOnOtherChain = false;
  isHeadUncertain = false;
  #chainCheck: Promise<void> | undefined;
  #respondedAt = -Infinity;
  #id = 0;

  constructor({ name, archive, limits }: FixedUpstreamOptions, config: LiveUpstreamOptions, options: UpstreamOptions) {
    this.name = name;
    this.config = config;
    this.blocks = new AvailableBlocks(archive);
    this.methods = new UnsupportedMethods(name, options.log);
    this.limits = limits && new UpstreamLimits(limits);
    this.metrics = options.metrics;
    this.#options = options;
    this.#secrets = new Secrets(options.transport.secrets, options.webSocket?.secrets ?? options.transport.secrets);
    this.#localNodeStart = options.starting;
  }

  get timeoutMs(): number {
    return this.config.timeoutMs ?? this.#options.defaultTimeoutMs;
  }

  /**
   * Sends one call, and records its latency.
   * @param params as JSON text
   * @param group of the method, if the call may share a batch with others
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
    const startedAt = performance.now();
    this.limits?.beginRequest(startedAt);
    try {
      const remainingMs = this.#hasCheckedChain ? timeLimitMs : await this.#prepare(startedAt + timeLimitMs);
      if (params.length > LARGE_PARAMS_CHARS) await timeSlicer.next();
      const id = ++this.#id;
      const raw = await this.#send(id, method, params, Math.min(remainingMs, this.timeoutMs), cancellation, group);
      if (raw.body.length >= LARGE_RESPONSE_BYTES) await timeSlicer.next();
      const response = readResponse(raw, id, this.#secrets);
      this.#respondedAt = performance.now();
      this.metrics.succeeded((this.#respondedAt - startedAt) / 1000);
      return response;
    } catch (error) {
      if (error instanceof Cancelled) this.metrics.failed('cancelled', (performance.now() - startedAt) / 1000);
      if (!(error instanceof UpstreamFailure)) throw error;
      if (error.failure === 'transport') this.isHeadUncertain = true;
      const isSlow = error instanceof TimedOut && this.#respondedAt > startedAt;
      const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while other calls were successful') : error;
      failure.isCallerTimeout = isCallerTimeout(error, timeLimitMs, this.timeoutMs);
      this.metrics.failed(failure.failure, (performance.now() - startedAt) / 1000);
      throw failure;
    } finally {
      this.limits?.endRequest();
    }
  }

  /** @param since on the clock of performance.now() */
  hasResponded(since: number): boolean {
    return this.#respondedAt > since;
  }

  /** State for the status page. Sends no request. @param now on the clock of performance.now() */
  status(now: number): UpstreamState {
    return upstreamStateOf(this, this.#respondedAt !== -Infinity, this.metrics.history(), now);
  }

  /** Whether limits and circuit permit a call now. A half-open circuit permits one call per second: this one, if true. */
  tryAcquireCall(now: number): boolean {
    if (this.limits?.hasCapacity(now) === false) return false;
    return this.circuit.isClosed || this.circuit.tryBeginTrial(now);
  }

  recordSuccess(method: string): void {
    if (!this.circuit.isClosed) this.#options.log.info({ upstream: this.name }, 'upstream recovered');
    this.circuit.recordSuccess();
    this.methods.recordSuccess(method);
  }

  /** @param canMark the method may be marked  @returns whether this failure opened a closed circuit */
  recordFailure(method: string, failed: FailedOutcome, now: number, canMark = true): boolean {
    const { failure, response } = failed;
    // The calls of one batch are slow together: they count once.
    if (failure === 'slow' && !this.#slowSampler.takeIfDue('', now)) return false;
    if (canMark) this.methods.recordFailure(method, failure, response !== undefined, now);
    this.latencyScore.recordFailure(failure, now);
    const hasOpened = this.circuit.recordFailure(failure, now, failed.retryAfterMs, response !== undefined);
    if (response !== undefined) this.metrics.unusable(failure);
    // After the cooldown, another node may use the address.
    if (hasOpened) this.#hasCheckedChain = false;
    return hasOpened;
  }

  /**
   * Sends a request of the gateway itself, such as a poll.
   * @param params as JSON text
   * @throws UpstreamFailure, also for a JSON-RPC error
   */
  async fetchResult(method: string, params: string): Promise<unknown> {
    const { metrics, timeoutMs } = this;
    if (!permitsMethod(this.config.methods, method)) throw new UpstreamFailure('unsupported', 'excluded');
    const startedAt = performance.now();
    this.limits?.beginRequest(startedAt);
    try {
      const remainingMs = this.#hasCheckedChain ? timeoutMs : await this.#prepare(startedAt + timeoutMs);
      const response = parseResponse(await this.#exchange(method, params, remainingMs));
      this.#respondedAt = performance.now();
      if (response.kind === 'error')
        throw new UpstreamFailure('node-state', this.#secrets.removeFrom(response.message));
      metrics.polled('response');
      // A poll is a trial too: an upstream that is ranked below a working one may get no call.
      if (!this.circuit.isClosed && this.circuit.isCooldownOver(this.#respondedAt)) this.recordSuccess(method);
      return response.result;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      // Another node may use the address later, or the same one without its newest blocks.
      this.#hasCheckedChain &&= error.failure !== 'transport';
      this.isHeadUncertain ||= error.failure === 'transport';
      metrics.polled(error.failure);
      throw error;
    } finally {
      this.limits?.endRequest();
    }
  }

  /** Opens a subscription. Undefined without a WebSocket. */
  subscribe(params: string, events: SubscriptionEvents): { close(): void } | undefined {
    const { webSocket, chainId } = this.#options;
    const options = { chainId, params, timeoutMs: this.timeoutMs, secrets: this.#secrets, nextId: () => ++this.#id };
    const isPermitted = permitsMethod(this.config.methods, nodeMethods.subscribe);
    return isPermitted && webSocket ? openSubscription(webSocket, options, events) : undefined;
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.transport.close(), this.#options.webSocket?.close()]);
  }

  /**
   * Waits for a local node to start, and checks the chain id. Concurrent calls share one check.
   * @returns the remaining time in ms
   */
  async #prepare(deadline: number): Promise<number> {
    if (this.#localNodeStart !== undefined) {
      const started = this.#localNodeStart.catch(() => {
        throw new UpstreamFailure('transport', 'the local node did not start');
      });
      await withTimeout(started, deadline - performance.now(), () => new TimedOut());
      this.#localNodeStart = undefined;
    }
    this.#chainCheck ??= this.#checkChain().finally(() => {
      this.#chainCheck = undefined;
    });
    await withTimeout(this.#chainCheck, deadline - performance.now(), () => new TimedOut());
    return deadline - performance.now();
  }

  async #checkChain(): Promise<void> {
    this.limits?.beginRequest(performance.now());
    const request = this.#exchange(nodeMethods.chainId, '[]', this.timeoutMs);
    const response = await request.finally(() => this.limits?.endRequest());
    try {
      checkChain(response, this.#options.chainId);
    } catch (error) {
      this.isOnOtherChain = error instanceof UpstreamFailure && error.failure === 'wrong-chain';
      throw error;
    }
    this.#hasCheckedChain = true;
    this.isOnOtherChain = false;
  }

  /** The outcome without the upstream's secrets in errors, for callers and the log. `readResponse` has cleaned results. */
  withoutSecrets<Kind extends Outcome>(outcome: Kind): Kind {
    const { response } = outcome;
    return response?.kind === 'error' ? { ...outcome, response: this.#secrets.removeFromError(response) } : outcome;
  }

  async #exchange(method: string, params: string, timeLimitMs: number): Promise<UpstreamResponse> {
    const id = ++this.#id;
    return readResponse(await this.#send(id, method, params, timeLimitMs), id, this.#secrets);
  }

  /** @throws UpstreamFailure, Cancelled; both may also reject the promise */
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
