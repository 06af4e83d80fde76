import type { UpstreamMetrics } from '../metrics/instruments.ts';
import { AvailableBlocks } from './available-blocks.ts';
import type { Cancellation } from './transport/cancellation.ts';
import { Secrets } from './transport/credentials.ts';
import type { CircuitBreaker, FailedCall } from './health/circuit-breaker.ts';
import { ChainCheck } from './health/chain-check.ts';
import { OwnRequests } from './health/own-requests.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { UnsupportedMethods } from './unsupported-methods.ts';
import { readResponse } from './transport/read-response.ts';
import {
  parseResponse,
  ResponseTooLarge,
  UpstreamFailure,
  type UpstreamResponse,
} from './transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from './outcome.ts';
import { Sampler } from './sampling.ts';
import { LatencyScore } from './latency-score.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import { permitsMethod } from '../network-files/method-upstreams.ts';
import type { FixedUpstreamOptions, LiveUpstreamOptions } from '../network-files/network-config.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { openSubscription, type SubscriptionEvents } from './transport/websocket-subscription.ts';
import { UpstreamHealth } from './health/upstream-health.ts';
import { upstreamStateOf, type UpstreamState } from './upstream-state.ts';
import { promised } from './receiver.ts';
import { UpstreamCalls } from './upstream-calls.ts';

/** Slow calls within this time count once. */
const SLOW_SAMPLE_INTERVAL_MS = 20;
const SAMPLE_INTERVAL_MS = 1_000;
/** The chain id is checked again after this time, a little less than a minute, because rounds are not exact. */
const CHAIN_CHECK_INTERVAL_MS = 55_000;
/** Minimum time between two checks because of connections. A pool opens many at once. */
const CONNECTION_CHECK_MS = 5_000;
/** Calls wait for no second check within this time, in case the upstream closes a connection after each response. */
const LOST_CHECK_MS = 1_000;
/** Limit for responses to requests of the gateway itself: blocks without transactions, and lists of hashes. */
const MAX_OWN_RESPONSE_BYTES = 4_000_000;
/** With `probe: off`: time after the last call at which polls stop, as for a network. */
const UNWATCHED_AFTER_MS = 180_000;

/** One endpoint of a network: checks its chain id, sends requests and records outcomes. It does not select or retry. */
export class Upstream {
  readonly name: string;
  /** A reload sets it. */
  config: LiveUpstreamOptions;
  readonly health: UpstreamHealth;
  readonly circuit: CircuitBreaker;
  readonly latencyScore = new LatencyScore();
  readonly methods: UnsupportedMethods;
  readonly sampler = new Sampler(SAMPLE_INTERVAL_MS);
  readonly #slowSampler = new Sampler(SLOW_SAMPLE_INTERVAL_MS);
  readonly blocks: AvailableBlocks;
  readonly limits: UpstreamLimits | undefined;
  readonly metrics: UpstreamMetrics;
  readonly #options: UpstreamOptions;
  readonly #secrets: Secrets;
  readonly #chain: ChainCheck;
  isHeadUncertain = false;
  /** A connection was opened since the last check of the chain id. */
  #hasNewConnection = false;
  readonly #own: OwnRequests;
  readonly calls: UpstreamCalls;

  constructor({ name, archive, limits }: FixedUpstreamOptions, config: LiveUpstreamOptions, options: UpstreamOptions) {
    this.name = name;
    this.config = config;
    this.blocks = new AvailableBlocks(archive);
    this.health = new UpstreamHealth(name, options.log);
    this.circuit = this.health.circuit;
    this.methods = new UnsupportedMethods(name, options.log);
    this.limits = limits && new UpstreamLimits(limits);
    this.metrics = options.metrics;
    this.#options = options;
    this.#secrets = new Secrets(options.transport.secrets, options.webSocket?.secrets ?? options.transport.secrets);
    this.#chain = new ChainCheck({
      chainId: options.chainId,
      classifyError: options.classifyError,
      starting: options.starting,
      request: (method) => this.#exchange(method, '[]', this.timeoutMs),
    });
    this.calls = new UpstreamCalls({
      transport: options.transport,
      chain: this.#chain,
      limits: this.limits,
      metrics: this.metrics,
      secrets: this.#secrets,
      upstream: this,
      hasResponded: (since) => this.hasResponded(since),
      onTransportFailure: () => {
        this.isHeadUncertain = true;
      },
    });
    this.#own = new OwnRequests({
      health: this.health,
      onEnd: (outcome) => {
        options.metrics.polled(outcome);
        // Another node may use the address later, or the same one without its newest blocks.
        if (outcome === 'transport') [this.#chain.isDone, this.isHeadUncertain] = [false, true];
      },
      hasServedCall: (since) => this.calls.respondedAt > since,
    });
    this.#watchConnections();
  }

  /** Requests of calls that have not ended. */
  get inFlight(): number {
    return this.calls.inFlight;
  }

  get isOnOtherChain(): boolean {
    return this.#chain.isOnOtherChain;
  }

  get timeoutMs(): number {
    return this.config.timeoutMs ?? this.#options.defaultTimeoutMs;
  }

  /**
   * Sends one call, and records its latency.
   * @param params as JSON text
   * @throws UpstreamFailure, Cancelled
   */
  request(method: string, params: string, timeLimitMs: number, cancellation?: Cancellation): Promise<UpstreamResponse> {
    return promised((receiver) => {
      const call = {
        method,
        params,
        timeLimitMs,
        cancellation,
        group: undefined,
        timeoutMs: undefined,
        id: 0,
        sentAt: 0,
      };
      this.calls.send(Object.assign(receiver, call));
    });
  }

  /** @param since on the clock of performance.now() */
  hasResponded(since: number): boolean {
    return this.calls.respondedAt > since || this.#own.respondedAt > since;
  }

  /** Whether it has ever responded, or failed. */
  get isUsed(): boolean {
    return this.hasResponded(-Infinity) || !this.circuit.isClosed;
  }

  /** Whether the network file forbids probes and polls while the upstream gets no calls. */
  isUnwatched(now: number): boolean {
    return this.config.probe === 'off' && now - this.calls.respondedAt > UNWATCHED_AFTER_MS;
  }

  /** Checks the chain id if due: once a minute, and after new connections. Called while the network is used. */
  probeIfIdle(now: number): void {
    if (this.circuit.pauseMs(now) !== undefined) return;
    const isProbeDue = this.#own.isProbeDue(Math.max(this.calls.respondedAt, this.#chain.checkedAt), now);
    const intervalMs = this.#hasNewConnection ? CONNECTION_CHECK_MS : CHAIN_CHECK_INTERVAL_MS;
    const isCheckDue = this.#chain.isDone && now - this.#chain.checkedAt >= intervalMs;
    if ((isProbeDue || isCheckDue) && !this.isUnwatched(now)) void this.verifyChain();
  }

  /** Checks the chain id again. @returns whether it is that of the network; false also without a response. Never rejects. */
  verifyChain(): Promise<boolean> {
    this.#hasNewConnection = false;
    return this.#own
      .send(() => this.#chain.run())
      .then(
        () => true,
        () => false, // recorded by #own
      );
  }

  /** State for the status page. Sends no request. @param now on the clock of performance.now() */
  status(now: number): UpstreamState {
    return upstreamStateOf(this, Math.max(this.calls.respondedAt, this.#own.respondedAt), now);
  }

  /** Whether limits and circuit permit a call now. A half-open circuit permits one call per second: this one, if true. */
  tryAcquireCall(now: number): boolean {
    if (this.limits?.hasCapacity(now) === false || this.circuit.pauseMs(now) !== undefined) return false;
    return this.circuit.isClosed || this.circuit.tryBeginTrial(now);
  }

  recordSuccess(method: string): void {
    this.health.recordSuccess();
    this.methods.recordSuccess(method);
  }

  /**
   * @param canMark the method may be marked
   * @param call undefined: no call is the cause
   * @returns whether this failure opened a closed circuit
   */
  recordFailure(method: string, failed: FailedOutcome, now: number, canMark = true, call?: FailedCall): boolean {
    const { failure, response } = failed;
    // The calls of one batch are slow together: they count once.
    if (failure === 'slow' && !this.#slowSampler.takeIfDue('', now)) return false;
    if (canMark) this.methods.recordFailure(method, failure, response !== undefined, now);
    this.latencyScore.recordFailure(failure, now);
    const hasOpened = this.health.recordFailure(failed, now, call);
    if (response !== undefined) this.metrics.unusable(failure);
    // After the cooldown, another node may use the address.
    if (hasOpened) this.#chain.isDone = false;
    return hasOpened;
  }

  /**
   * Sends a request of the gateway itself, such as a poll.
   * @param params as JSON text
   * @throws UpstreamFailure, also for a JSON-RPC error
   */
  async fetchResult(method: string, params: string): Promise<unknown> {
    if (!permitsMethod(this.config.methods, method)) throw new UpstreamFailure('unsupported', 'excluded');
    if (this.circuit.pauseMs(performance.now()) !== undefined) throw new UpstreamFailure('rate', 'asked for a pause');
    return this.#own.send(async (startedAt) => {
      const remainingMs = await this.#prepare(startedAt + this.timeoutMs);
      const response = parseResponse(
        await this.#exchange(method, params, remainingMs, undefined, MAX_OWN_RESPONSE_BYTES),
      );
      if (response.kind === 'result') return response.result;
      throw new UpstreamFailure('node-state', this.#secrets.removeFrom(response.message));
    });
  }

  /** Sends a request of the gateway itself, which only the limits record. @throws UpstreamFailure, Cancelled */
  async exchangeOwn(method: string, params: string, deadline: number, work?: Cancellation): Promise<UpstreamResponse> {
    return this.#exchange(method, params, await this.#prepare(deadline), work);
  }

  async #prepare(deadline: number): Promise<number> {
    return this.#chain.isDone ? deadline - performance.now() : this.#chain.prepare(deadline);
  }

  /** Opens a subscription. Undefined without a WebSocket. */
  subscribe(params: string, events: SubscriptionEvents): { close(): void } | undefined {
    const { webSocket, chainId } = this.#options;
    const options = {
      chainId,
      params,
      timeoutMs: this.timeoutMs,
      secrets: this.#secrets,
      nextId: () => this.calls.nextId(),
      onOtherChain: () => {
        if (this.#chain.isDone) void this.verifyChain();
      },
    };
    if (webSocket === undefined || !permitsMethod(this.config.methods, nodeMethods.subscribe)) return undefined;
    const subscription = openSubscription(webSocket, options, {
      ...events,
      notified: (result) => {
        if (!this.isOnOtherChain) {
          events.notified(result);
          return;
        }
        subscription.close();
        events.ended();
      },
    });
    return subscription;
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.transport.close(), this.#options.webSocket?.close()]);
  }

  /** The outcome without the upstream's secrets in errors, for callers and the log. `readResponse` has cleaned results. */
  withoutSecrets<Kind extends Outcome>(outcome: Kind): Kind {
    const { response } = outcome;
    return response?.kind === 'error' ? { ...outcome, response: this.#secrets.removeFromError(response) } : outcome;
  }

  /** After the loss of all connections, the next call waits for a check; after another new one, it does not. */
  #watchConnections(): void {
    const { transport, webSocket } = this.#options;
    const sinceCheckMs = (): number => performance.now() - this.#chain.checkedAt;
    const lost = (): void => {
      if (sinceCheckMs() >= LOST_CHECK_MS) this.#chain.isDone = false;
      else this.#hasNewConnection = true;
    };
    const connected = (): void => {
      if (this.#chain.isRunning) return; // the check has probably opened it
      this.#hasNewConnection = true;
      if (this.#chain.isDone && sinceCheckMs() >= CONNECTION_CHECK_MS) void this.verifyChain();
    };
    transport.watch({ connected, lost });
    if (webSocket !== undefined && webSocket !== transport) webSocket.watch({ connected, lost });
  }

  async #exchange(
    method: string,
    params: string,
    limitMs: number,
    work?: Cancellation,
    maxBytes = Infinity,
  ): Promise<UpstreamResponse> {
    const id = this.calls.nextId();
    this.limits?.beginRequest(performance.now());
    try {
      const raw = await this.calls.post(id, method, params, limitMs, work);
      if (raw.body.length > maxBytes) throw new ResponseTooLarge();
      return readResponse(raw, id, this.#secrets);
    } finally {
      this.limits?.endRequest();
    }
  }
}
