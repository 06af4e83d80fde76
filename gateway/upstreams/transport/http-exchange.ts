import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Deadlines, Timed } from '../../admission/deadlines.ts';
import { gatehouse, type Account } from '../../admission/account.ts';
import { clock } from '../../clock/clock.ts';
import { errorCode } from '../../config/log.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { RpcError } from '../../jsonrpc/errors.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { BodyRest, type Failure } from './body-rest.ts';
import { Cancelled, type Cancellable, type Cancellation } from './cancellation.ts';
import { LargeTurn, TURN_OVER_BYTES, type TurnTaker } from './large-turn.ts';
import { callerTimeout, ResponseTooLarge, TimedOut, UpstreamFailure } from './upstream-response.ts';

/** A smaller response is never rejected: it may be the hash of a transaction that has been sent. */
const TINY_BYTES = 4_096;
/** A smaller response is not rejected because memory is high. */
const SMALL_BYTES = 65_536;

/** Smaller chunks are counted, and because each costs a microsecond or more. */
const SMALL_CHUNK_BYTES = 256;
/** Small chunks after which the owner's turn of the event loop may end: undici passes on what has arrived at once, up to 2 MB. */
const MAX_SMALL_CHUNKS = 3_000;
/** Time that they cost at most. They may have come over a long time. */
const MAX_SMALL_CHUNKS_MS = 6;

/** Larger responses may flow. */
const FLOW_OVER_BYTES = 32_768;
/** Bytes after which a response of unknown length flows if the result has a bound. */
const MAX_HELD_BYTES = 1_000_000;

/** Responses with status 1xx before the response of a request: each costs as much as the head of any other. */
const MAX_INFORMATIONAL = 20;

/** Bytes read beyond those of the body. Chunks of 512 bytes have 1.4 % more, and a head has 16 kB at most. */
const MAX_FRAMING_BYTES = 65_536;
export const MAX_FRAMING_SHARE = 0.1;

/** Whether the bytes that surround those of a body, or of the messages of a WebSocket, are more than any needs. */
export function isFramingFlood(framingBytes: number, bodyBytes: number): boolean {
  return framingBytes > Math.max(MAX_FRAMING_BYTES, MAX_FRAMING_SHARE * bodyBytes);
}

/** The upstream has sent more of what surrounds a body than any response needs: the connection ends. */
export class FramingFlood extends UpstreamFailure {
  constructor() {
    super('transport', 'too much framing');
  }
}

/** Status and body of an upstream response. Over WebSocket, the status is 200. */
export interface HttpResponse {
  readonly status: number;
  /** The first bytes, if there is a rest. */
  readonly body: Buffer;
  /** The rest of a response that flows. */
  readonly rest?: BodyRest;
  /** The header `Retry-After`. */
  readonly retryAfter?: string | undefined;
}

export interface TimedResponse extends HttpResponse {
  /** Time from the request's last byte to the response's first. */
  readonly nodeMs: number;
}

export interface ResponseBounds {
  /** Limit for the body of a response. A larger one is an upstream failure. */
  readonly responseMaxBytes: number;
  /** Accounts responses while they arrive; undefined: they are not accounted. */
  readonly memory?: MemoryBudget | undefined;
}

/** Bounds within which a large response may be passed on while it arrives. */
export interface FlowBounds {
  /** Maximum bytes of the result. A response that may have more is collected. */
  readonly maxBytes: number;
  /** Whether it may begin now. Called once, when more than its first bytes have arrived. */
  mayBegin(): boolean;
}

/** How the response of one request is received. */
export interface ResponseOptions {
  /** Deadline for the last byte of the response, by clock.now(). The wait for a slot counts. */
  readonly deadline: number;
  /** Bounds of a flow; undefined: the response is collected. */
  readonly flow?: FlowBounds | undefined;
  /** Maximum bytes of the response, if below the bound of the upstream. Only an exchange of its own observes it. */
  readonly maxBytes?: number | undefined;
  /** Taker of the turn, if the response becomes large. Undefined: it waits for no other one. */
  readonly turnTaker?: TurnTaker | undefined;
}

/** Receives one response from undici's events, with a time limit and a size limit. It is collected, unless it may flow. */
export class HttpExchange implements Dispatcher.DispatchHandler, Cancellable, Timed {
  readonly #resolve: (response: TimedResponse) => void;
  readonly #reject: (reason: Failure) => void;
  readonly #bounds: ResponseBounds;
  readonly #maxBytes: number;
  readonly deadline: number;
  deadlinePlace = -1;
  cancellationPlace = -1;
  readonly #deadlines: Deadlines;
  readonly #cancellation: Cancellation | undefined;
  readonly #owner: Account;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: Failure | undefined;
  #status = 0;
  /** Time when the request was written to a connection. */
  #sentAt = 0;
  #nodeMs = 0;
  #contentLength: number | undefined;
  #informational = 0;
  /** Bytes of the body. */
  receivedBytes = 0;
  #smallChunks = 0;
  #smallChunksSince = 0;
  #retryAfter: string | undefined;
  readonly #collected = new CollectedBytes();
  #takenBytes = 0;
  /** The response flows when it has more bytes than these. */
  #flowOverBytes = Infinity;
  readonly #options: ResponseOptions;
  #rest: BodyRest | undefined;
  #hasWaited = false;

  constructor(
    resolve: (response: TimedResponse) => void,
    reject: (reason: Failure) => void,
    options: ResponseOptions,
    bounds: ResponseBounds,
    deadlines: Deadlines,
    cancellation: Cancellation | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bounds = bounds;
    this.#options = options;
    this.#maxBytes = Math.min(options.maxBytes ?? Infinity, bounds.responseMaxBytes);
    this.deadline = options.deadline;
    this.#deadlines = deadlines;
    deadlines.add(this);
    this.#cancellation = cancellation;
    this.#owner = cancellation?.owner ?? gatehouse;
    cancellation?.add(this);
  }

  cancel(): void {
    this.fail(new Cancelled());
  }

  timeOut(): void {
    // The upstream may have sent all of it.
    this.fail(this.#hasWaited ? callerTimeout() : new TimedOut());
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
    this.#sentAt = clock.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    this.#status = statusCode;
    if (statusCode < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) this.fail(new FramingFlood());
      return;
    }
    this.#nodeMs = clock.now() - this.#sentAt;
    if (statusCode >= 400) this.#retryAfter = headers['retry-after'];
    const { 'content-length': length } = headers;
    if (length !== undefined) this.#contentLength = Number(length);
    const { flow } = this.#options;
    if (flow !== undefined && statusCode === 200) this.#flowOverBytes = this.#flowStart(flow.maxBytes);
  }

  /** Number of bytes from which on a response flows. Infinity: it is collected, because it may be beyond a bound. */
  #flowStart(maxBytes: number): number {
    const bytes = this.#contentLength;
    if (bytes !== undefined) return bytes <= Math.min(maxBytes, this.#maxBytes) ? FLOW_OVER_BYTES : Infinity;
    if (maxBytes === Infinity) return FLOW_OVER_BYTES;
    return maxBytes > MAX_HELD_BYTES ? MAX_HELD_BYTES : Infinity;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    if (chunk.length < SMALL_CHUNK_BYTES) this.#countSmallChunk(controller);
    const bytes = (this.receivedBytes += chunk.length);
    if (bytes > this.#maxBytes) {
      this.fail(new ResponseTooLarge());
      return;
    }
    try {
      const { memory } = this.#bounds;
      if (bytes <= TINY_BYTES) memory?.add(this.#owner, chunk.length);
      else memory?.take(this.#owner, chunk.length, bytes <= SMALL_BYTES);
    } catch (error) {
      this.fail(error as RpcError);
      return;
    }
    if (this.#rest !== undefined) {
      this.#rest.add(chunk);
      return;
    }
    this.#takenBytes += chunk.length;
    this.#collected.add(chunk);
    if (bytes > this.#flowOverBytes && bytes !== this.#contentLength) this.#tryFlow();
    else if (bytes > TURN_OVER_BYTES && !this.#hasWaited) this.#beginTurn(controller);
  }

  /** Waits for the earlier large responses of the owner. The rest of this one stays in its connection meanwhile. */
  #beginTurn(controller: Dispatcher.DispatchController): void {
    const { begun } = LargeTurn.of(this.#options.turnTaker, this.deadline, this.#cancellation) ?? {};
    if (begun === undefined) return;
    this.#hasWaited = true;
    controller.pause();
    begun.then(
      (hasBegun) => {
        if (hasBegun) controller.resume();
      },
      () => undefined, // The exchange has the same deadline and cancellation.
    );
  }

  #countSmallChunk(controller: Dispatcher.DispatchController): void {
    // Most small responses have one chunk, which needs no time.
    if (++this.#smallChunks === 2) this.#smallChunksSince = clock.now();
    if (this.#smallChunks < MAX_SMALL_CHUNKS) return;
    this.#smallChunks = 0;
    const owner = this.#owner.payer.name;
    turnBudget.charge(owner, Math.min(clock.now() - this.#smallChunksSince, MAX_SMALL_CHUNKS_MS));
    const turn = turnBudget.next(owner);
    if (turn === undefined) return;
    controller.pause();
    void turn.then(() => {
      controller.resume();
    });
  }

  /** Passes on what has arrived, if that may be. Its bytes, and those that follow, are released by the reader. */
  #tryFlow(): void {
    this.#flowOverBytes = Infinity;
    if (this.#options.flow?.mayBegin() !== true) return;
    const { memory } = this.#bounds;
    const account = this.#owner;
    this.#rest = new BodyRest(
      this.#takenBytes,
      (bytes) => {
        memory?.add(account, -bytes);
      },
      () => {
        this.cancel();
      },
    );
    this.#takenBytes = 0;
    this.#resolve({ status: this.#status, body: this.#collected.join(), rest: this.#rest, nodeMs: this.#nodeMs });
  }

  onResponseEnd(): void {
    this.#release();
    if (this.#rest !== undefined) this.#rest.end();
    else {
      const [status, retryAfter, nodeMs] = [this.#status, this.#retryAfter, this.#nodeMs];
      this.#resolve({ status, body: this.#collected.join(), retryAfter, nodeMs });
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#failure !== undefined) this.#settle(this.#failure);
    else {
      const failure = transportFailure(error, this.#status === 0);
      // There was no connection to send it on.
      failure.isUnsent = this.#controller === undefined;
      this.#settle(failure);
    }
  }

  #settle(reason: Failure): void {
    this.#release();
    if (this.#rest !== undefined) this.#rest.end(reason);
    else this.#reject(reason);
  }

  #release(): void {
    this.#deadlines.delete(this);
    this.#cancellation?.delete(this);
    this.#bounds.memory?.add(this.#owner, -this.#takenBytes);
    this.#takenBytes = 0;
  }
}

/** Uses only the code, because messages of network errors contain the host. */
function transportFailure(error: Error, isBeforeResponse: boolean): UpstreamFailure {
  const code = errorCode(error);
  const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
  return new UpstreamFailure('transport', code, isBeforeResponse && isClosed);
}
