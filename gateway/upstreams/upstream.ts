import { clock } from '../clock/clock.ts';
import { turnsFor } from '../admission/account.ts';
import type { OwnedSteps } from '../event-loop/owned-steps.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { UpstreamMetrics } from '../metrics/metrics.ts';
import type { AuditOutcome } from '../metrics/series.ts';
import { AvailableBlocks } from './available-blocks.ts';
import type { Drain } from '../drains/drains.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { Cancelled, type Cancellation } from './transport/cancellation.ts';
import { CredentialSearch } from './transport/credential-search.ts';
import { Secrets } from './transport/credentials.ts';
import type { FlowBounds, HttpResponse } from './transport/http-exchange.ts';
import type { BatchedGroup, SentRequest, WithoutBatches } from './transport/transport.ts';
import type { CircuitBreaker, FailedCall } from './health/circuit-breaker.ts';
import { ChainCheck } from './health/chain-check.ts';
import { OwnRequests, type PollMessage } from './health/own-requests.ts';
import { mayReturnText } from '../spec/method-facts.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { maxResponseBytes } from '../spec/result-bounds.ts';
import { UnsupportedMethods } from './unsupported-methods.ts';
import { LARGE_RESPONSE_BYTES } from './transport/response-envelope.ts';
import type { BodyRest } from './transport/body-rest.ts';
import { FlowingResult, UnreadResult, type FlowingResponse, type ResultReader } from './transport/flowing-result.ts';
import { largeTurns, type TurnTaker } from './transport/large-turn.ts';
import { readInSteps, readResponse } from './transport/read-response.ts';
import {
  parseResponse,
  ResponseTooLarge,
  TimedOut,
  UpstreamFailure,
  type ErrorResponse,
  type FailureClass,
  type UpstreamResponse,
} from './transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from './outcome.ts';
import { Sampler } from './sampling.ts';
import { LatencyScore } from './latency-score.ts';
import { UpstreamLimits } from './upstream-limits.ts';
import { permitsMethod } from '../network-files/methods.ts';
import type { FixedUpstreamOptions, LiveUpstreamOptions } from '../network-files/network-config.ts';
import { groupOf } from '../network-files/upstream-group.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { openSubscription, type SubscriptionEvents } from './transport/websocket-subscription.ts';
import { isCallerTimeout, stepsUntil } from './health/with-timeout.ts';
import { failureReasons, UpstreamHealth } from './health/upstream-health.ts';

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
/** Time after the last call at which polls stop with `probe: off`, as for a network. */
const UNWATCHED_AFTER_MS = 180_000;

/** Failures of the upstream as a whole, whatever the request. */
const generalFailures: ReadonlySet<FailureClass> = new Set(['rate', 'quota', 'auth', 'transport']);

/** Bytes that are searched for credentials in one step. */
const SEARCHED_BYTES = 262_144;
const BACKSLASH = 92;
/** An escaped character takes up to six: `\u0074`. */
const MAX_ESCAPED_CHARS = 6;

/** Writing 5 MB takes 5 ms. */
const LARGE_PARAMS_CHARS = 100_000;

/** Time for which results are collected after a malformed result that flowed: then another upstream can serve the call. */
const COLLECT_MS = 600_000;

/** How a call is sent. */
export interface SendOptions extends TurnTaker {
  /** Deadline of the call, by clock.now(). */
  readonly deadline: number;
  /** Time of the method; undefined: the upstream's. */
  readonly timeoutMs?: number | undefined;
  /**
   * Callers choose how long it takes: it waits for a slot during half of its time. With less time left, it would end in the
   * gateway while the upstream works on it, and free its slot for the next such call.
   */
  readonly runsCode?: boolean;
  readonly cancellation?: Cancellation | undefined;
  /** Reservation of the bytes of a large response while it waits for its turn and is read. */
  readonly reservation?: Reservation | undefined;
  /** The client's batch, if the call may be sent in a batch with others of it. */
  readonly clientBatch?: object | undefined;
  readonly batchedGroup?: BatchedGroup | undefined;
  /** Time when the request got a slot of the upstream, if it waited for one, by clock.now(). `send` sets it. */
  startedAt?: number | undefined;
  /** Request to flow; undefined: the result is collected. */
  readonly flow?: FlowRequest | undefined;
  /** Whether the request has a slot and a unit of the upstream's limits. */
  readonly isAdmitted?: boolean;
}

/** How a large result may be passed on to the caller while it arrives. */
export interface FlowRequest extends FlowBounds {
  /** Whether a hedge was sent, whose response may come first, while the first bytes were read. */
  isHedged(): boolean;
  /** Function that creates a reader of the result; undefined: it passes unread. */
  readonly openReader?: () => ResultReader;
}

/** One endpoint of a network: checks its chain id, sends requests and records outcomes. It does not select or retry. */
export class Upstream {
  readonly name: string;
  readonly #defaultGroup: string;
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
  readonly concurrency: ConcurrencyLimit;
  readonly largeTurns = largeTurns();
  readonly metrics: UpstreamMetrics;
  readonly #options: UpstreamOptions;
  readonly #secrets: Secrets;
  readonly #chain: ChainCheck;
  isHeadUncertain = false;
  /** Drain, set while an operator has the upstream out of service: it gets no calls, polls or probes. */
  drain: Drain | undefined;
  /** A connection was opened since the last check of the chain id. */
  #hasNewConnection = false;
  readonly #own: OwnRequests;
  /** Calls that have not ended. */
  inFlight = 0;
  /** Time of the last response to a call. */
  #respondedAt = -Infinity;
  /** Time when the latest successful call was sent: an error that rejects all calls is a response, too. */
  #servedAt = -Infinity;
  /** A call failed, and not because its caller had too little time. */
  hasFailed = false;
  /** Number of audits, and of checks of its results, by outcome. Undefined: none has ended. */
  audits: Readonly<Record<AuditOutcome, number>> | undefined;
  /** The last audit that differed: its time, and the other upstream, if no third one decided. Undefined: none differed. */
  difference: { readonly at: number; readonly from: string | undefined } | undefined;
  #id = 0;
  /** Results do not flow before. */
  #collectsUntil = -Infinity;

  constructor(fixed: FixedUpstreamOptions, config: LiveUpstreamOptions, options: UpstreamOptions) {
    const { name, archive, limits } = fixed;
    this.name = name;
    this.#defaultGroup = groupOf(fixed);
    this.config = config;
    this.blocks = new AvailableBlocks(archive);
    this.health = new UpstreamHealth(name, options.log);
    this.circuit = this.health.circuit;
    this.methods = new UnsupportedMethods(name, options.log);
    this.limits = limits && new UpstreamLimits(limits, options.shared);
    this.concurrency = new ConcurrencyLimit(options.transport.slots);
    this.metrics = options.metrics;
    this.#options = options;
    this.#secrets = new Secrets(options.transport.secrets, options.webSocket?.secrets ?? options.transport.secrets);
    this.#chain = new ChainCheck({
      chainId: options.chainId,
      failureOf: this.#failureOf.bind(this),
      starting: options.starting,
      request: (method) => this.#exchange(method, '[]', clock.now() + this.timeoutMs),
    });
    this.#own = new OwnRequests({
      health: this.health,
      onEnd: (outcome) => {
        options.metrics.polled(outcome);
        // Another node may use the address later, or the same one without its newest blocks.
        if (outcome === 'transport') [this.#chain.isDone, this.isHeadUncertain] = [false, true];
      },
      onPolled: options.onPolled,
      hasServedCall: (since) => this.#servedAt > since,
    });
    this.#watchConnections();
  }

  /** Upstreams of one group have one vote about the chain. */
  get group(): string {
    const { group } = this.config;
    return group === undefined ? this.#defaultGroup : groupOf({ name: this.name, group });
  }

  get isOnOtherChain(): boolean {
    return this.#chain.isOnOtherChain;
  }

  /** Why the calls of client batches are sent singly now. */
  get withoutBatches(): WithoutBatches | undefined {
    return this.#options.transport.withoutBatches;
  }

  get timeoutMs(): number {
    return this.config.failsafe?.['*']?.timeoutMs ?? this.#options.defaultTimeoutMs;
  }

  /** @param from `differs`: the other upstream of the audit, if no third one decides */
  recordAudit(outcome: AuditOutcome, from?: string): void {
    this.metrics.audited(outcome);
    const counts = this.audits ?? { agrees: 0, differs: 0, 'cannot-tell': 0 };
    this.audits = { ...counts, [outcome]: counts[outcome] + 1 };
    if (outcome === 'differs') this.difference = { at: clock.now(), from };
  }

  /**
   * Sends a call, and records its latency or failure in the metrics.
   * @param params as JSON text
   * @throws UpstreamFailure, Cancelled (rejects with it)
   */
  async send(method: string, params: string, options: SendOptions): Promise<UpstreamResponse | FlowingResponse> {
    const {
      deadline,
      timeoutMs = this.timeoutMs,
      cancellation,
      clientBatch,
      batchedGroup,
      isAdmitted = false,
    } = options;
    if (cancellation?.isCancelled === true) {
      if (isAdmitted) this.limits?.giveBack();
      throw new Cancelled();
    }
    const sentAt = clock.now();
    if (!isAdmitted) this.limits?.beginRequest();
    this.inFlight++;
    let rest: BodyRest | undefined;
    try {
      if (!this.#chain.isDone) await this.#prepareCall(deadline);
      if (params.length > LARGE_PARAMS_CHARS) await timeSlicer.next();
      const id = ++this.#id;
      const body = bodyOf(id, method, params);
      const flow = sentAt < this.#collectsUntil ? undefined : options.flow;
      const now = clock.now();
      const sentDeadline = Math.min(deadline, now + timeoutMs);
      const slotDeadline = options.runsCode === true ? (now + sentDeadline) / 2 : undefined;
      const maxBytes = maxResponseBytes(method);
      // V8 takes 1 µs for a spread with further members.
      const sent: SentRequest = {
        ...{ id, body, deadline: sentDeadline, slotDeadline, clientBatch, batchedGroup, flow, maxBytes },
        turnTaker: options,
      };
      let received = await this.#options.transport.send(sent, cancellation);
      options.startedAt = sent.startedAt;
      ({ rest } = received);
      if (rest !== undefined && flow !== undefined) {
        const search = this.#searchWhilePassing(method);
        const options = { id, maxBytes: flow.maxBytes, owner: this.#ownerOf(cancellation), search };
        const reader = flow.openReader?.() ?? new UnreadResult();
        const result = this.#canSearch(method) && (await FlowingResult.open(received.body, rest, reader, options));
        if (result instanceof FlowingResult && !flow.isHedged())
          return this.#flowing(result, sentAt, deadline - sentAt, timeoutMs);
        received = { status: received.status, body: await rest.collect(received.body) };
      }
      const response =
        received.body.length < LARGE_RESPONSE_BYTES
          ? readResponse(received, id, this.#secretsFor(method, received.body))
          : await this.#readInTurn(received, id, method, options);
      this.#respondedAt = clock.now();
      this.metrics.succeeded((this.#respondedAt - sentAt - (options.largeTurn?.waitedMs ?? 0)) / 1000);
      return response;
    } catch (error) {
      rest?.close();
      throw this.#recordFailedCall(error, sentAt, deadline - sentAt, timeoutMs);
    } finally {
      if (rest === undefined) this.#requestEnded();
      else void rest.ended.then(this.#requestEnded);
    }
  }

  readonly #requestEnded = (): void => {
    this.limits?.endRequest();
    this.inFlight--;
  };

  /** Whether bytes show all credentials in a result: a text may have those that are not ASCII in several forms. */
  #canSearch(method: string): boolean {
    return this.#secrets.areAscii || !mayReturnText(method);
  }

  /** Search in a result that flows; undefined: there are no credentials. */
  #searchWhilePassing(method: string): CredentialSearch | undefined {
    const maxBytes = this.#secrets.maxCredentialChars * MAX_ESCAPED_CHARS;
    return maxBytes === 0 ? undefined : new CredentialSearch(this.#searchOf(method), maxBytes);
  }

  /** Whether bytes of a response have a credential. If it may have text, all credentials are ASCII. */
  #searchOf(method: string): (bytes: Buffer) => boolean {
    const secrets = this.#secrets;
    return mayReturnText(method)
      ? (bytes) => secrets.areIn(bytes.toString('latin1'))
      : (bytes) => secrets.mayBeIn(bytes) && secrets.areIn(bytes.toString());
  }

  /** Records the latency or failure of a flowing result at its end. What its reader takes of the time does not count. */
  #flowing(result: FlowingResult, sentAt: number, timeLimitMs: number, timeoutMs: number): FlowingResponse {
    const ended = result.ended.then((error) => {
      if (error === undefined) {
        this.#respondedAt = Math.max(this.#respondedAt, result.receivedAt);
        this.metrics.succeeded((result.receivedAt - sentAt) / 1000);
        return undefined;
      }
      if (error instanceof UpstreamFailure && error.failure === 'malformed')
        this.#collectsUntil = clock.now() + COLLECT_MS;
      const endedAt = Math.min(clock.now(), result.receivedAt);
      return this.#recordFailedCall(error, sentAt, timeLimitMs, timeoutMs, endedAt);
    });
    return { kind: 'flowing', result, ended };
  }

  /** Reads a large response in turns of the call's account. @throws UpstreamFailure, RpcError (rejects with it) */
  async #readInTurn(
    received: HttpResponse,
    id: number,
    method: string,
    { cancellation, reservation, deadline }: SendOptions,
  ): Promise<UpstreamResponse> {
    const owner = this.#ownerOf(cancellation);
    const { body } = received;
    if (reservation?.mustDeliver === true) reservation.add(body.length);
    else reservation?.take(body.length);
    const steps = stepsUntil(deadline, owner);
    try {
      await steps.next();
      const isSearched = body.length > SEARCHED_BYTES && this.#canSearch(method);
      const isEchoed = isSearched && (await this.#isEchoedIn(body, method, steps));
      const secrets = isSearched ? (isEchoed ? this.#secrets : undefined) : this.#secretsFor(method, body);
      return await readInSteps(received, id, secrets, steps);
    } finally {
      steps.charge();
      reservation?.giveBack(body.length);
    }
  }

  /** Whether a large response has a credential. It is searched in steps. */
  async #isEchoedIn(body: Buffer, method: string, steps: OwnedSteps): Promise<boolean> {
    const isEchoed = this.#searchOf(method);
    for (const part of partsOf(body, this.#secrets.maxCredentialChars)) {
      if (isEchoed(part)) return true;
      await steps.next();
    }
    return false;
  }

  /** Owner whose time of the event loop a response takes. */
  #ownerOf(cancellation: Cancellation | undefined): string {
    return turnsFor(cancellation?.owner, this.name);
  }

  /** @throws UpstreamFailure (rejects with it) */
  async #prepareCall(deadline: number): Promise<void> {
    try {
      await this.#chain.prepare(deadline);
    } catch (error) {
      if (error instanceof UpstreamFailure) error.isUnsent = true;
      throw error;
    }
  }

  /** @returns the error to throw */
  #recordFailedCall(
    error: unknown,
    sentAt: number,
    timeLimitMs: number,
    timeoutMs: number,
    endedAt = clock.now(),
  ): unknown {
    const seconds = (endedAt - sentAt) / 1000;
    if (error instanceof Cancelled) this.metrics.failed('cancelled', seconds);
    if (!(error instanceof UpstreamFailure)) return error;
    if (error.failure === 'transport') this.isHeadUncertain = true;
    const isSlow = error instanceof TimedOut && this.respondedAt > sentAt;
    const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while other calls were successful') : error;
    failure.isUnsent = error.isUnsent;
    failure.isCallerTimeout = isCallerTimeout(error, timeLimitMs, timeoutMs);
    if (!failure.isCallerTimeout) this.hasFailed = true;
    this.metrics.failed(failure.failure, seconds);
    return failure;
  }

  /** Whether it has ever responded, or failed. */
  get isUsed(): boolean {
    return this.respondedAt !== -Infinity || !this.circuit.isClosed;
  }

  /**
   * Whether it is drained, or the network file forbids probes and polls while it gets no calls.
   * @param isNeeded a call needs its head: a poll for it is no poll without a call
   */
  isUnwatched(now: number, isNeeded = false): boolean {
    if (this.drain !== undefined) return true;
    if (isNeeded) return false;
    return this.config.probe === 'off' && now - this.#respondedAt > UNWATCHED_AFTER_MS;
  }

  /** Checks the chain id if due: once a minute, and after new connections. Called while the network is used. */
  probeIfIdle(now: number): void {
    if (this.circuit.pauseMs(now) !== undefined) return;
    const isProbeDue = this.#own.isProbeDue(Math.max(this.#respondedAt, this.#chain.checkedAt), now);
    const intervalMs = this.#hasNewConnection ? CONNECTION_CHECK_MS : CHAIN_CHECK_INTERVAL_MS;
    const isCheckDue = this.#chain.isDone && now - this.#chain.checkedAt >= intervalMs;
    if ((isProbeDue || isCheckDue) && !this.isUnwatched(now)) void this.verifyChain();
  }

  /** Checks the chain id again. @returns whether it is that of the network; false also without a response. Never rejects. */
  verifyChain(): Promise<boolean> {
    this.#hasNewConnection = false;
    return this.#own
      .send(() => this.#chain.run(), true)
      .then(
        () => true,
        () => false, // recorded by #own
      );
  }

  /** The time of a poll, in ms; undefined: not known yet. */
  get pollMs(): number | undefined {
    return this.#own.pollMs;
  }

  /** Follows another worker, which has polled the upstream, or must pause. */
  followPoll(failed: PollMessage['failed']): void {
    this.#own.follow(failed);
  }

  /** Time of its last response, by clock.now(); -Infinity: none. */
  get respondedAt(): number {
    return Math.max(this.#respondedAt, this.#own.respondedAt);
  }

  /** Whether limits and circuit permit a call now. A half-open circuit permits one call per second: this one, if true. */
  tryAcquireCall(now: number): boolean {
    if (this.limits?.mayAdmit() === false || this.circuit.pauseMs(now) !== undefined) return false;
    return this.circuit.isClosed || this.circuit.tryBeginTrial(now);
  }

  /** @param sentAt by clock.now() @param isProven what proves the result was found */
  recordSuccess(method: string, sentAt: number, isProven = false): void {
    this.#servedAt = Math.max(this.#servedAt, sentAt);
    this.health.recordSuccess(sentAt);
    this.methods.recordSuccess(method, isProven);
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
    if (response !== undefined) this.metrics.unusable(failure);
    return this.#recordFailure(failed, now, call);
  }

  /** Counts the failure of a call that another upstream served. @returns whether it opened a closed circuit */
  recordServedElsewhere(failed: FailedOutcome, now: number, call: FailedCall): boolean {
    if (failed.failure === 'slow' && !this.#slowSampler.takeIfDue('served', now)) return false;
    return this.#recordFailure(failed, now, { ...call, mayBeCause: false, wasServed: true });
  }

  /** The other workers pause too, if the upstream requests it. */
  #recordFailure(failed: FailedOutcome, now: number, call: FailedCall | undefined): boolean {
    const wasPaused = this.circuit.pauseMs(now) !== undefined;
    const hasOpened = this.health.recordFailure(failed, now, call);
    // After the cooldown, another node may use the address.
    if (hasOpened) this.#chain.isDone = false;
    const retryAfterMs = wasPaused ? undefined : this.circuit.pauseMs(now);
    const { failure, detail = failureReasons[failure] } = failed;
    if (retryAfterMs !== undefined)
      this.#options.onPolled?.({ failure, message: detail, retryAfterMs, isOfCall: true });
    return hasOpened;
  }

  /**
   * Sends a request of the gateway itself, such as a poll.
   * @param params as JSON text
   * @param isPoll its errors are classified as those of calls are; other methods may be missing in the provider's plan
   * @throws UpstreamFailure, also for a JSON-RPC error
   */
  async fetchResult(method: string, params: string, isPoll = false): Promise<unknown> {
    if (!permitsMethod(this.config.methods, method)) throw new UpstreamFailure('unsupported', 'excluded');
    if (this.circuit.pauseMs(clock.now()) !== undefined) {
      this.metrics.polled('paused'); // so that the alert lasts
      throw new UpstreamFailure('rate', 'asked for a pause');
    }
    const { timeoutMs } = this;
    const send = async (sentAt: number): Promise<unknown> => {
      const received = this.#exchange(method, params, sentAt + timeoutMs, undefined, MAX_OWN_RESPONSE_BYTES);
      const response = parseResponse(await received);
      if (response.kind === 'result') return response.result;
      const failed = isPoll ? this.#failureOf(response) : undefined;
      throw failed ?? new UpstreamFailure('node-state', this.#secrets.removeFrom(response.message));
    };
    const prepare = this.#chain.isDone ? undefined : () => this.#chain.prepare(clock.now() + timeoutMs);
    return this.#own.send(send, isPoll, prepare);
  }

  /** The failure of the upstream as a whole that an error reports; undefined: the error concerns the request. */
  #failureOf(error: ErrorResponse): UpstreamFailure | undefined {
    const { failure, retryAfterMs } = this.#options.classifyError?.(error) ?? {};
    if (failure === undefined || !generalFailures.has(failure)) return undefined;
    return new UpstreamFailure(failure, failureReasons[failure], false, retryAfterMs);
  }

  /** Sends a request of the gateway itself, which only the limits record. @throws UpstreamFailure, Cancelled */
  async exchangeOwn(method: string, params: string, deadline: number, work?: Cancellation): Promise<UpstreamResponse> {
    if (!this.#chain.isDone) await this.#chain.prepare(deadline);
    return this.#exchange(method, params, deadline, work);
  }

  /** Opens a subscription. Undefined without a WebSocket. */
  subscribe(params: string, events: SubscriptionEvents): { close(): void } | undefined {
    const { webSocket, chainId } = this.#options;
    const options = {
      chainId,
      params,
      timeoutMs: this.timeoutMs,
      secrets: this.#secrets,
      nextId: () => ++this.#id,
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
    this.limits?.close();
    await Promise.all([this.#options.transport.close(), this.#options.webSocket?.close()]);
  }

  /** The outcome without the upstream's secrets in errors, for callers and the log. `readResponse` has cleaned results. */
  withoutSecrets<Kind extends Outcome>(outcome: Kind): Kind {
    const { response } = outcome;
    return response?.kind === 'error' ? { ...outcome, response: this.#secrets.removeFromError(response) } : outcome;
  }

  /** Secrets to remove; undefined: by its schema the result has no text, and its bytes have no credential. */
  #secretsFor(method: string, body: Buffer): Secrets | undefined {
    return mayReturnText(method) || this.#secrets.mayBeIn(body) ? this.#secrets : undefined;
  }

  /** Watches the connections. After the loss of all, the next call waits for a check; after another new one, it does not. */
  #watchConnections(): void {
    const { transport, webSocket } = this.#options;
    const sinceCheckMs = (): number => clock.now() - this.#chain.checkedAt;
    const lost = (): void => {
      if (sinceCheckMs() >= LOST_CHECK_MS) this.#chain.isDone = false;
      else this.#hasNewConnection = true;
    };
    const connected = (isOnly: boolean): void => {
      // After an idle time, another node may use the address: a poll follows the next response.
      const isIdle = this.respondedAt <= clock.now() - CONNECTION_CHECK_MS;
      if (isOnly && isIdle && this.isUsed) this.isHeadUncertain = true;
      if (this.#chain.isRunning) return; // the check has probably opened it
      this.#hasNewConnection = true;
      if (this.#chain.isDone && sinceCheckMs() >= CONNECTION_CHECK_MS) void this.verifyChain();
    };
    const events = { connected, lost, batchesChanged: this.#logBatches };
    transport.watch(events);
    if (webSocket !== undefined && webSocket !== transport) webSocket.watch(events);
  }

  readonly #logBatches = (reason: WithoutBatches | undefined, forMs: number): void => {
    const { log } = this.#options;
    const upstream = this.name;
    if (reason === undefined) log.info({ upstream }, 'client batches are sent as batches again');
    else
      log.warn({ upstream, reason, forS: forMs / 1_000 }, 'calls of client batches are sent singly, then tried again');
  };

  async #exchange(
    method: string,
    params: string,
    deadline: number,
    work?: Cancellation,
    maxBytes = Infinity,
  ): Promise<UpstreamResponse> {
    if (work?.isCancelled === true) throw new Cancelled();
    const id = ++this.#id;
    this.limits?.beginRequest();
    try {
      const received = await this.#options.transport.send(
        { id, body: bodyOf(id, method, params), deadline, maxBytes: maxResponseBytes(method) },
        work,
      );
      if (received.body.length > maxBytes) throw new ResponseTooLarge();
      return readResponse(received, id, this.#secretsFor(method, received.body));
    } finally {
      this.limits?.endRequest();
    }
  }
}

function bodyOf(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

/**
 * The parts in which a large response is searched. Each text of so many characters is in one of them as a whole, and none
 * begins within an escape of one character.
 */
export function* partsOf(body: Buffer, maxChars: number): Iterable<Buffer> {
  let last = 0;
  for (let at = 0; at < body.length; at += SEARCHED_BYTES) {
    let start = Math.max(0, at - (maxChars + 1) * MAX_ESCAPED_CHARS);
    let before = start;
    // The last part did not begin within an escape either.
    while (before > last && body[before - 1] === BACKSLASH) before--;
    start -= (start - before) % 2;
    yield body.subarray(start, at + SEARCHED_BYTES);
    last = start;
  }
}
