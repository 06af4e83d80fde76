import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { UpstreamMetrics } from '../metrics/instruments.ts';
import type { MethodGroup } from '../spec/method-spec.ts';
import type { ChainCheck } from './health/chain-check.ts';
import { isCallerTimeout } from './health/with-timeout.ts';
import type { Receiver } from './receiver.ts';
import { Cancelled, type Cancellation } from './transport/cancellation.ts';
import type { Secrets } from './transport/credentials.ts';
import type { HttpResponse } from './transport/http-exchange.ts';
import { LARGE_RESPONSE_BYTES } from './transport/read-large-response.ts';
import { readResponse } from './transport/read-response.ts';
import type { Transport } from './transport/transport.ts';
import { TimedOut, UpstreamFailure, type UpstreamResponse } from './transport/upstream-response.ts';
import type { UpstreamLimits } from './upstream-limits.ts';

/** Writing 5 MB takes 5 ms. */
const LARGE_PARAMS_CHARS = 100_000;

/** One call for an upstream. It receives its response, an UpstreamFailure or Cancelled. */
export interface SentCall extends Receiver<UpstreamResponse> {
  readonly method: string;
  /** As JSON text. */
  readonly params: string;
  /** From the time when it is sent. */
  readonly timeLimitMs: number;
  /** Of the method; undefined: the upstream's. */
  readonly timeoutMs: number | undefined;
  readonly cancellation: Cancellation | undefined;
  /** Of the method, if the call may share a batch with others. */
  readonly group: MethodGroup | undefined;
  /** Set by `send`. */
  id: number;
  /** On the clock of performance.now(). Set by `send`. */
  sentAt: number;
}

interface UpstreamCallsOptions {
  readonly transport: Transport;
  readonly chain: ChainCheck;
  readonly limits: UpstreamLimits | undefined;
  readonly metrics: UpstreamMetrics;
  readonly secrets: Secrets;
  /** Its time limit for calls without one of their own. */
  readonly upstream: { readonly timeoutMs: number };
  /** Whether the upstream has responded to any request since then. */
  readonly hasResponded: (since: number) => boolean;
  readonly onTransportFailure: () => void;
}

/**
 * Sends the calls of one upstream, and records their latencies and failures in its metrics. A call costs two promises:
 * that of the transport and its continuation, which runs only when undici has left its own work.
 */
export class UpstreamCalls {
  readonly #options: UpstreamCallsOptions;
  /** Calls that have not ended. */
  inFlight = 0;
  /** Time of the last response to a call. */
  respondedAt = -Infinity;
  #id = 0;

  constructor(options: UpstreamCallsOptions) {
    this.#options = options;
  }

  nextId(): number {
    return ++this.#id;
  }

  send(call: SentCall): void {
    if (call.cancellation?.isCancelled === true) {
      call.failed(new Cancelled());
      return;
    }
    const { limits, chain } = this.#options;
    call.sentAt = performance.now();
    limits?.beginRequest(call.sentAt);
    this.inFlight++;
    const canSendNow = chain.isDone && call.params.length <= LARGE_PARAMS_CHARS;
    (canSendNow ? this.#post(call, call.timeLimitMs) : this.#prepareAndPost(call)).then(
      (raw) => {
        const pause = raw.body.length >= LARGE_RESPONSE_BYTES ? timeSlicer.next() : undefined;
        if (pause === undefined) this.#received(call, raw);
        else
          void pause.then(() => {
            this.#received(call, raw);
          });
      },
      (error: unknown) => {
        this.#failed(call, error);
      },
    );
  }

  /** @throws UpstreamFailure, Cancelled (rejects with it) */
  post(
    id: number,
    method: string,
    params: string,
    timeLimitMs: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<HttpResponse> {
    if (cancellation?.isCancelled === true) return Promise.reject(new Cancelled());
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    return this.#options.transport.exchange(body, timeLimitMs, id, cancellation, group);
  }

  #post(call: SentCall, remainingMs: number): Promise<HttpResponse> {
    const { method, params, cancellation, group, timeoutMs = this.#options.upstream.timeoutMs } = call;
    call.id = ++this.#id;
    return this.post(call.id, method, params, Math.min(remainingMs, timeoutMs), cancellation, group);
  }

  async #prepareAndPost(call: SentCall): Promise<HttpResponse> {
    const { chain } = this.#options;
    const { params, timeLimitMs, sentAt } = call;
    let remainingMs = timeLimitMs;
    try {
      if (!chain.isDone) remainingMs = await chain.prepare(sentAt + timeLimitMs);
    } catch (error) {
      if (error instanceof UpstreamFailure) error.isUnsent = true;
      throw error;
    }
    if (params.length > LARGE_PARAMS_CHARS) await timeSlicer.next();
    return this.#post(call, remainingMs);
  }

  #received(call: SentCall, raw: HttpResponse): void {
    let response: UpstreamResponse;
    try {
      response = readResponse(raw, call.id, this.#options.secrets);
    } catch (error) {
      this.#failed(call, error);
      return;
    }
    const now = performance.now();
    this.respondedAt = now;
    this.#options.metrics.succeeded((now - call.sentAt) / 1000);
    this.#options.limits?.endRequest();
    this.inFlight--;
    call.succeeded(response);
  }

  #failed(call: SentCall, error: unknown): void {
    const { limits, metrics, upstream, hasResponded, onTransportFailure } = this.#options;
    const { sentAt, timeLimitMs } = call;
    const seconds = (performance.now() - sentAt) / 1000;
    limits?.endRequest();
    this.inFlight--;
    if (error instanceof Cancelled) metrics.failed('cancelled', seconds);
    if (!(error instanceof UpstreamFailure)) {
      call.failed(error);
      return;
    }
    if (error.failure === 'transport') onTransportFailure();
    const isSlow = error instanceof TimedOut && hasResponded(sentAt);
    const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while other calls were successful') : error;
    failure.isUnsent = error.isUnsent;
    failure.isCallerTimeout = isCallerTimeout(error, timeLimitMs, call.timeoutMs ?? upstream.timeoutMs);
    metrics.failed(failure.failure, seconds);
    call.failed(failure);
  }
}
