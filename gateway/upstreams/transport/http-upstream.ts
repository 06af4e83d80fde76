import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import { Deadlines, type Timed } from '../../admission/deadlines.ts';
import { FairQueue } from '../../admission/fair-queue.ts';
import { gatehouse, type SlotOwner } from '../../admission/fair-slots.ts';
import { errorCode } from '../../config/log.ts';
import { loadPackage } from '../../config/load-package.ts';
import type { RpcError } from '../../jsonrpc/errors.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { Connector, type ConnectOptions } from './connect/connector.ts';
import { Cancelled, type Cancellable, type Cancellation } from './cancellation.ts';
import { credentialsOf, joinSecrets, type SecretTexts } from './credentials.ts';
import { NoFreeSlot, ResponseTooLarge, sendAfterWait, TimedOut, UpstreamFailure } from './upstream-response.ts';

/** Only the pool: 3 MB of memory and 60 ms at start. The whole of undici costs five times that. */
const UndiciPool = loadPackage('undici/lib/dispatcher/pool.js') as typeof Pool;

/**
 * `identity`: a block of 163 KB costs 220 µs of CPU uncompressed, and 500 to 760 µs with gzip.
 * Without the header, the upstream may use any encoding (RFC 9110 §12.5.3).
 */
const ownHeaders = ['content-type', 'application/json', 'accept', 'application/json', 'accept-encoding', 'identity'];

interface ResponseBounds {
  /** Limit for the body of a response. A larger one is an upstream failure. */
  readonly responseMaxBytes: number;
  /** Accounts responses while they arrive; undefined: they are not accounted. */
  readonly memory?: MemoryBudget | undefined;
}

export interface HttpUpstreamOptions extends ResponseBounds, ConnectOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
}

/** Status and body of an upstream response. Over WebSocket, the status is 200. */
export interface HttpResponse {
  readonly status: number;
  readonly body: Buffer;
  /** The header `Retry-After`. */
  readonly retryAfter?: string | undefined;
}

/**
 * Sends requests over one upstream's pool of HTTP connections. `dispatch` with a custom handler costs 30 µs of CPU per
 * call, server included; `request` costs 43 µs.
 */
export class HttpUpstream {
  readonly secrets: SecretTexts;
  readonly #pool: Pool;
  /** Undefined: without a proxy. */
  readonly #connector: Connector | undefined;
  readonly #path: string;
  readonly #headers: string[];
  readonly #bounds: ResponseBounds;
  readonly #deadlines = new Deadlines();
  /** Calls in flight, as many as connections. Others wait here, fairly over their keys. */
  readonly slots: FairQueue;

  constructor(options: HttpUpstreamOptions) {
    const { url, headers, secrets } = credentialsOf(options.url, options.headers);
    const { origin, pathname, search } = url;
    const { proxyUrl, tls } = options;
    const proxy = proxyUrl === undefined ? undefined : credentialsOf(proxyUrl, {});
    this.#connector = proxy && new Connector(url, proxy, tls);
    const connect = this.#connector?.connect ?? tls;
    // HttpExchange limits the time for connecting, headers and body. The timers of undici would be redundant.
    this.#pool = new UndiciPool(origin, {
      connections: options.connections,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 15_000,
      ...(connect !== undefined && { connect: connect as Pool.Options['connect'] & object }),
    });
    this.#path = pathname + search;
    this.#headers = [...ownHeaders, ...headers.flat()];
    this.secrets = proxy === undefined ? secrets : joinSecrets(secrets, proxy.secrets);
    this.#bounds = options;
    this.slots = new FairQueue({ slots: options.connections, rejection: () => new NoFreeSlot() });
  }

  /**
   * Posts a call and reads the whole response. Waits for a slot before.
   * @param timeLimitMs from now until the last byte
   * @throws UpstreamFailure, Cancelled
   */
  exchange(body: string, timeLimitMs: number, _id: number, cancellation?: Cancellation): Promise<HttpResponse> {
    if (this.slots.tryEnter(cancellation?.owner ?? gatehouse)) return this.send(body, timeLimitMs, cancellation, true);
    const send = (remainingMs: number): Promise<HttpResponse> => this.send(body, remainingMs, cancellation, true);
    return sendAfterWait(this.slots, timeLimitMs, cancellation, send);
  }

  /**
   * Posts a body at once and reads the whole response.
   * @param hasSlot whether the slot of the cancellation's owner is released at the end
   * @throws UpstreamFailure, Cancelled
   */
  send(
    body: string,
    timeLimitMs: number,
    cancellation: Cancellation | undefined,
    hasSlot: boolean,
  ): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.start(body, performance.now() + timeLimitMs, cancellation, hasSlot, resolve, reject);
    });
  }

  /** As `send`, without a promise. @param deadline on the clock of performance.now() */
  start(
    body: string,
    deadline: number,
    cancellation: Cancellation | undefined,
    hasSlot: boolean,
    resolve: (response: HttpResponse) => void,
    reject: (reason: Failure) => void,
  ): void {
    const slots = hasSlot ? this.slots : undefined;
    const exchange = new HttpExchange(resolve, reject, this.#bounds, deadline, this.#deadlines, cancellation, slots);
    try {
      this.#pool.dispatch({ path: this.#path, method: 'POST', headers: this.#headers, body }, exchange);
    } catch (error) {
      exchange.onResponseError(undefined, error as Error);
    }
  }

  /** Ends all exchanges in flight with a failure. */
  close(): Promise<void> {
    this.#connector?.close();
    return this.#pool.destroy();
  }
}

/** Why an exchange has no response. RpcError: the memory budget is used up, which is no upstream failure. */
type Failure = UpstreamFailure | Cancelled | RpcError;

/** Collects one response from undici's events, with a time limit and a size limit. */
class HttpExchange implements Dispatcher.DispatchHandler, Cancellable, Timed {
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (reason: Failure) => void;
  readonly #bounds: ResponseBounds;
  readonly deadline: number;
  readonly #deadlines: Deadlines;
  readonly #cancellation: Cancellation | undefined;
  readonly #owner: SlotOwner;
  /** Undefined: without a slot, or after its release. */
  #slots: FairQueue | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: Failure | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  readonly #collected = new CollectedBytes();
  #takenBytes = 0;

  constructor(
    resolve: (response: HttpResponse) => void,
    reject: (reason: Failure) => void,
    bounds: ResponseBounds,
    deadline: number,
    deadlines: Deadlines,
    cancellation: Cancellation | undefined,
    slots: FairQueue | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bounds = bounds;
    this.deadline = deadline;
    this.#deadlines = deadlines;
    deadlines.add(this);
    this.#cancellation = cancellation;
    this.#owner = cancellation?.owner ?? gatehouse;
    this.#slots = slots;
    cancellation?.add(this);
  }

  cancel(): void {
    this.fail(new Cancelled());
  }

  timeOut(): void {
    this.fail(new TimedOut());
  }

  /** Aborting a request over HTTP/1.1 closes its connection. A request without a connection is dropped. */
  fail(failure: Failure): void {
    this.#failure = failure;
    if (this.#controller === undefined) this.#settle(failure);
    else this.#controller.abort(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The exchange failed before it got a connection. Throwing keeps the connection open; `abort` would close it.
    if (this.#failure !== undefined) throw this.#failure;
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    this.#status = statusCode;
    if (statusCode >= 400) this.#retryAfter = headers['retry-after'];
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    if (this.#collected.length + chunk.length > this.#bounds.responseMaxBytes) {
      this.fail(new ResponseTooLarge());
      return;
    }
    try {
      this.#bounds.memory?.take(this.#owner.holder, chunk.length);
    } catch (error) {
      this.fail(error as RpcError);
      return;
    }
    this.#takenBytes += chunk.length;
    this.#collected.add(chunk);
  }

  onResponseEnd(): void {
    this.#release();
    this.#resolve({ status: this.#status, body: this.#collected.join(), retryAfter: this.#retryAfter });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#settle(this.#failure ?? transportFailure(error, this.#status === 0));
  }

  #settle(reason: Failure): void {
    this.#release();
    this.#reject(reason);
  }

  #release(): void {
    this.#deadlines.delete(this);
    this.#cancellation?.delete(this);
    this.#bounds.memory?.add(this.#owner.holder, -this.#takenBytes);
    this.#takenBytes = 0;
    const slots = this.#slots;
    this.#slots = undefined;
    slots?.leave(this.#owner);
  }
}

/** Uses only the code, because messages of network errors contain the host. */
function transportFailure(error: Error, isBeforeResponse: boolean): UpstreamFailure {
  const code = errorCode(error);
  const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
  return new UpstreamFailure('transport', code, isBeforeResponse && isClosed);
}
