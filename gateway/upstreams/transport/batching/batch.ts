import type { SlotOwner } from '../../../admission/fair-slots.ts';
import { NotJson, endOfValue, skipSpace, walkArray } from '../../../jsonrpc/json-bytes.ts';
import type { BatchedCall } from './batched-call.ts';
import { Cancellation } from '../cancellation.ts';
import type { HttpResponse } from '../http-exchange.ts';
import type { HttpUpstream } from '../http-upstream.ts';
import { responseId } from '../response-id.ts';
import { UpstreamFailure } from '../upstream-response.ts';

/** A response waits for all calls of its batch. Providers and nodes permit 100 or more. */
const MAX_BATCH_CALLS = 10;

/** Added to the time limit of a batch, so that each call reaches its own limit first. */
const TIMEOUT_MARGIN_MS = 100;

const OPEN_BRACKET = 91;

/** Sends calls together, and matches the responses to them. */
export class Batch {
  readonly #http: HttpUpstream;
  readonly #onRejected: () => void;
  /** The calls without a response, by id. */
  readonly #pending = new Map<number, BatchedCall>();
  readonly #request: Cancellation;
  #lastDeadline = 0;

  /** @param onRejected called if the upstream rejects the batch */
  constructor(http: HttpUpstream, owner: SlotOwner, onRejected: () => void) {
    this.#http = http;
    this.#onRejected = onRejected;
    this.#request = new Cancellation(owner);
  }

  get isFull(): boolean {
    return this.#pending.size === MAX_BATCH_CALLS;
  }

  add(call: BatchedCall): void {
    this.#pending.set(call.id, call);
    this.#lastDeadline = Math.max(this.#lastDeadline, call.deadline);
  }

  send(): void {
    if (this.#pending.size === 1) {
      this.#sendOneByOne();
      return;
    }
    for (const call of this.#pending.values()) call.join(this.#abandon);
    void this.#sendTogether();
  }

  readonly #abandon = (id: number): void => {
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#request.cancel();
  };

  #settle(id: number, response: HttpResponse): void {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    call?.settle(response);
  }

  #fail(reason: unknown): void {
    for (const call of this.#pending.values()) call.fail(reason);
    this.#pending.clear();
  }

  /** @param isResend whether the first attempt failed on a stale connection */
  async #sendTogether(isResend = false): Promise<void> {
    try {
      const sent = this.#pending.size;
      const body = `[${Array.from(this.#pending.values(), (call) => call.body).join()}]`;
      const timeLimitMs = remainingMs(this.#lastDeadline) + TIMEOUT_MARGIN_MS;
      await this.#handleResponse(await this.#http.send(body, timeLimitMs, this.#request, false), sent);
    } catch (error) {
      // Cancelled: the callers of all calls have disconnected. No call is pending then.
      if (!(error instanceof UpstreamFailure)) this.#fail(error);
      else if (error.staleConnection && !isResend) await this.#sendTogether(true);
      // The response to the whole batch was too large.
      else if (error.failure === 'malformed') this.#handleRejection();
      else this.#fail(error);
    }
  }

  /** @param sent number of calls in the batch, of which some may have been abandoned since */
  async #handleResponse(response: HttpResponse, sent: number): Promise<void> {
    const responses = elementsOf(response.body);
    if (responses === undefined) {
      // Some providers reject batches with 403 or 429.
      if (mayConcernCalls(response.status) && !(await this.#succeedsAlone()))
        for (const id of this.#pending.keys()) this.#settle(id, response);
      this.#handleRejection();
      return;
    }
    const isComplete = responses.length >= sent;
    for (const body of responses) {
      // An error for the whole batch may have the id of one call: geth's `batch too large` has the first one's.
      const isOwn = isComplete ? !isRejectedInBatch(body) : !body.includes('"error"');
      const id = isOwn ? responseId(body) : undefined;
      if (typeof id === 'number') this.#settle(id, { ...response, body });
    }
    if (isComplete) this.#sendOneByOne();
    else this.#handleRejection();
  }

  /** Sends the first call alone. @returns whether the upstream responds to it, with a status that does not concern it */
  async #succeedsAlone(): Promise<boolean> {
    const [call] = this.#pending.values();
    if (call === undefined) return false;
    try {
      const response = await this.#http.send(call.body, remainingMs(call.deadline), this.#request, false);
      this.#settle(call.id, response);
      return !mayConcernCalls(response.status);
    } catch (error) {
      if (error instanceof UpstreamFailure) return false;
      throw error;
    }
  }

  #handleRejection(): void {
    if (this.#pending.size > 0) this.#onRejected();
    this.#sendOneByOne();
  }

  /** Sends each call that has no response yet alone. */
  #sendOneByOne(): void {
    for (const call of this.#pending.values()) call.sendAlone();
    this.#pending.clear();
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

/** Whether an HTTP status without responses may be that of each call: of the gateway's account at the provider, or of the node. */
function mayConcernCalls(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 429 || status >= 500;
}

/** geth's error for calls that do not fit into a batch response: `response too large` (rpc/errors.go, -32003). */
function isRejectedInBatch(response: Buffer): boolean {
  return response.length < 300 && response.includes('"code":-32003');
}
