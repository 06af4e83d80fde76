import type { SlotOwner } from '../../admission/fair-slots.ts';
import { NotJson, endOfValue, skipSpace, walkArray } from '../../jsonrpc/json-bytes.ts';
import { Cancellation } from './cancellation.ts';
import type { HttpResponse, HttpUpstream } from './http-upstream.ts';
import { PendingCalls, type PendingCall } from './pending-calls.ts';
import { responseId } from './response-id.ts';
import { MIN_COUNTED_TIMEOUT_MS, NoFreeSlot, TimedOut, UpstreamFailure } from './upstream-response.ts';

/** Erigon's default (--rpc.batch.limit), the smallest known limit. */
const MAX_BATCH_CALLS = 100;

/** Nodes reject bodies of 1 to 5 MB. */
const MAX_BATCH_CHARS = 500_000;

/** Added to the time limit of a batch, so that each call reaches its own limit first. */
const TIMEOUT_MARGIN_MS = 100;

/** The calls of a waiting batch have time limits of their own. Timers fire at once above this. */
const MAX_WAIT_MS = 2 ** 31 - 1;

const OPEN_BRACKET = 91;

interface BatchEvents {
  /** Called when no more calls can join. */
  readonly onSent: () => void;
  /** Called if the upstream rejects the batch. */
  readonly onRejected: () => void;
}

/** Collects the calls of one batch, sends them when it has a slot, and matches the responses to them. */
export class Batch {
  readonly #http: HttpUpstream;
  readonly #owner: SlotOwner;
  readonly #events: BatchEvents;
  readonly #pending: PendingCalls;
  /** Of the wait for the slot, and then of the request. */
  #request: Cancellation | undefined;
  #hasBegun = false;
  #hasWaited = false;
  /** On the clock of performance.now(); undefined: not sent yet. */
  #sentAt: number | undefined;
  #lastDeadline = 0;
  #length = 0;

  constructor(http: HttpUpstream, owner: SlotOwner, events: BatchEvents) {
    this.#http = http;
    this.#owner = owner;
    this.#events = events;
    this.#pending = new PendingCalls({
      onAbandoned: () => {
        if (this.#pending.size === 0) this.#request?.cancel();
      },
      timeoutOf: (call) => this.#timeoutOf(call),
    });
  }

  hasSpaceFor(body: string): boolean {
    return this.#pending.size < MAX_BATCH_CALLS && this.#length + body.length <= MAX_BATCH_CHARS;
  }

  add(body: string, timeLimitMs: number, id: number, cancellation: Cancellation | undefined): Promise<HttpResponse> {
    this.#lastDeadline = Math.max(this.#lastDeadline, performance.now() + timeLimitMs);
    this.#length += body.length;
    return this.#pending.add(body, timeLimitMs, id, cancellation);
  }

  /** Sends the batch, or begins to wait for its slot. */
  send(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (this.#http.slots.tryEnter(this.#owner)) this.#sendWithSlot();
    else void this.#sendAfterWait();
  }

  async #sendAfterWait(): Promise<void> {
    const { slots } = this.#http;
    this.#request = new Cancellation(this.#owner);
    this.#hasWaited = this.#pending.isWaiting = true;
    try {
      await slots.wait(this.#owner, MAX_WAIT_MS, this.#request);
    } catch (error) {
      // Cancelled: the callers of all calls have disconnected. No call is pending then.
      this.#events.onSent();
      this.#pending.fail(error);
      return;
    }
    if (this.#pending.size > 0) this.#sendWithSlot();
    else {
      this.#events.onSent();
      slots.leave(this.#owner);
    }
  }

  #sendWithSlot(): void {
    this.#events.onSent();
    this.#pending.isWaiting = false;
    this.#sentAt = performance.now();
    if (this.#pending.size === 1) this.#sendAlone();
    else void this.#sendTogether();
  }

  /** A call that waited is sent with little time, or not at all: then its timeout is no upstream failure. */
  #timeoutOf({ deadline }: PendingCall): UpstreamFailure {
    if (this.#sentAt === undefined) return new NoFreeSlot();
    const error = new TimedOut();
    error.isCallerTimeout = this.#hasWaited && deadline - this.#sentAt < MIN_COUNTED_TIMEOUT_MS;
    return error;
  }

  #sendAlone(): void {
    const [id] = this.#pending.ids();
    const call = id === undefined ? undefined : this.#pending.take(id);
    if (call === undefined) {
      this.#http.slots.leave(this.#owner);
      return;
    }
    const { body, deadline, cancellation, resolve, reject } = call;
    this.#http.send(body, remainingMs(deadline), cancellation, true).then(resolve, (error: unknown) => {
      reject(error instanceof TimedOut ? this.#timeoutOf(call) : error);
    });
  }

  /** @param isResend whether the first attempt failed on a stale connection */
  async #sendTogether(isResend = false): Promise<void> {
    try {
      this.#request = new Cancellation(this.#owner);
      const body = `[${this.#pending.bodies().join()}]`;
      const timeLimitMs = remainingMs(this.#lastDeadline) + TIMEOUT_MARGIN_MS;
      const response = isResend
        ? await this.#http.exchange(body, timeLimitMs, 0, this.#request)
        : await this.#http.send(body, timeLimitMs, this.#request, true);
      await this.#handleResponse(response);
    } catch (error) {
      // Cancelled: the callers of all calls have disconnected. No call is pending then.
      if (!(error instanceof UpstreamFailure)) this.#pending.fail(error);
      else if (error.staleConnection && !isResend) await this.#sendTogether(true);
      // The response to the whole batch was too large.
      else if (error.failure === 'malformed') this.#handleRejection();
      else this.#pending.fail(error);
    }
  }

  async #handleResponse(response: HttpResponse): Promise<void> {
    const responses = elementsOf(response.body);
    if (responses === undefined) {
      if (isAccountStatus(response.status) || (response.status >= 500 && !(await this.#succeedsAlone())))
        for (const id of this.#pending.ids()) this.#pending.settle(id, response);
      this.#handleRejection();
      return;
    }
    const isComplete = responses.length >= this.#pending.size;
    for (const body of responses) {
      // An error for the whole batch may have the id of one call: geth's `batch too large` has the first one's.
      const isOwn = isComplete ? !isRejectedInBatch(body) : !body.includes('"error"');
      const id = isOwn ? responseId(body) : undefined;
      if (typeof id === 'number') this.#pending.settle(id, { ...response, body });
    }
    if (isComplete) this.#sendOneByOne();
    else this.#handleRejection();
  }

  /** Sends the first call alone. @returns whether the upstream responds to it, with a status below 500 */
  async #succeedsAlone(): Promise<boolean> {
    const [id] = this.#pending.ids();
    const body = this.#pending.bodies()[0];
    if (id === undefined || body === undefined) return false;
    try {
      const response = await this.#http.exchange(body, remainingMs(this.#lastDeadline), id, this.#request);
      this.#pending.settle(id, response);
      return response.status < 500;
    } catch (error) {
      if (error instanceof UpstreamFailure) return false;
      throw error;
    }
  }

  #handleRejection(): void {
    if (this.#pending.size > 0) this.#events.onRejected();
    this.#sendOneByOne();
  }

  /** Sends each call that has no response yet alone, with a slot of its own. */
  #sendOneByOne(): void {
    for (const id of this.#pending.ids()) {
      const call = this.#pending.take(id);
      if (call === undefined) continue;
      const { body, deadline, cancellation, resolve, reject } = call;
      this.#http.exchange(body, remainingMs(deadline), id, cancellation).then(resolve, reject);
    }
  }
}

function remainingMs(deadline: number): number {
  return Math.max(1, deadline - performance.now());
}

/** The bytes of each element of an array; those before the error if it is malformed. Undefined: not an array. */
function elementsOf(body: Buffer): Buffer[] | undefined {
  const start = skipSpace(body, 0);
  if (body[start] !== OPEN_BRACKET) return undefined;
  const elements: Buffer[] = [];
  try {
    walkArray(body, start, (bytes, at, depth) => {
      const end = endOfValue(bytes, at, depth);
      elements.push(bytes.subarray(at, end));
      return end;
    });
    return elements;
  } catch (error) {
    if (error instanceof NotJson) return elements;
    throw error;
  }
}

/** Whether an HTTP status without responses concerns the gateway's account at the provider. */
function isAccountStatus(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 429;
}

/** geth's error for calls that do not fit into a batch response: `response too large` (rpc/errors.go, -32003). */
function isRejectedInBatch(response: Buffer): boolean {
  return response.length < 300 && response.includes('"code":-32003');
}
