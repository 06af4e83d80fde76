import { clock } from '../../clock/clock.ts';
import type { Deadlines } from '../../admission/deadlines.ts';
import { gatehouse, type Account } from '../../admission/account.ts';
import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { MAX_DEPTH } from '../../spec/result-bounds.ts';
import { MIN_COMPARED_CALLS, type BatchTimes } from './batch-times.ts';
import { Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-exchange.ts';
import type { HttpUpstream } from './http-upstream.ts';
import { PendingRequest } from './pending-request.ts';
import { responseId, responseIdInSteps } from './response-envelope.ts';
import type { SentRequest } from './transport.ts';
import { UpstreamFailure } from './upstream-response.ts';

/** Bytes that are read in one step. */
const STEP_BYTES = 65_536;

/** Margin on the time limit of a batch, so that each call reaches its own limit first. */
const TIMEOUT_MARGIN_MS = 100;

export interface BatchOptions {
  readonly maxCalls: number;
  readonly deadlines: Deadlines;
  /** Compares batches with single calls. */
  readonly times: BatchTimes | undefined;
  /** Listener, called if the upstream rejects the batch, which had so many calls. */
  readonly onRejected: (calls: number) => void;
  /** Listener, called when it is known whether the node works on the calls of batches one after the other. */
  readonly onCompared: (isSerial: boolean) => void;
}

/** Sends requests together, and matches the responses to them. */
export class Batch {
  readonly #http: HttpUpstream;
  readonly #options: BatchOptions;
  /** The requests without a response, by id. */
  readonly #pending = new Map<number, PendingRequest<HttpResponse>>();
  readonly #cancellation: Cancellation;
  #lastDeadline = 0;
  #added = 0;

  constructor(http: HttpUpstream, owner: Account | undefined, options: BatchOptions) {
    this.#http = http;
    this.#options = options;
    this.#cancellation = new Cancellation(owner);
  }

  get isFull(): boolean {
    return this.#added >= this.#options.maxCalls;
  }

  /** Adds a request. @throws UpstreamFailure, Cancelled (rejects with it) */
  add(request: SentRequest, cancellation: Cancellation | undefined): Promise<HttpResponse> {
    const pending = new PendingRequest<HttpResponse>(request, cancellation, this.#options.deadlines, this.#abandoned);
    this.#pending.set(request.id, pending);
    this.#added++;
    this.#lastDeadline = Math.max(this.#lastDeadline, request.deadline);
    return pending.response;
  }

  send(): void {
    const { size } = this.#pending;
    const { times } = this.#options;
    if (size === 1) this.#sendRestAlone();
    else if (size >= MIN_COMPARED_CALLS && times?.takeAlone() === true) void this.#sendAllAlone();
    else if (size > 1) void this.#sendTogether();
  }

  readonly #abandoned = ({ request }: PendingRequest<HttpResponse>): void => {
    this.#pending.delete(request.id);
    if (this.#pending.size === 0) this.#cancellation.cancel();
  };

  #settle(id: number, response: HttpResponse): void {
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    request?.settle(response);
  }

  /** @param response of each request that has none yet */
  #settleRest(response: HttpResponse): void {
    for (const request of this.#pending.values()) request.settle(response);
    this.#pending.clear();
  }

  /** Sends each request alone, to measure their times. Never rejects. */
  async #sendAllAlone(): Promise<void> {
    const { times } = this.#options;
    const alone = times?.alone;
    const nodeTimes = Array.from(this.#pending.values(), async (pending) => {
      const response = this.#http.post(pending.request, pending.cancellation);
      pending.settle(response);
      const { status, nodeMs } = await response;
      return status === 200 ? nodeMs : NaN;
    });
    this.#pending.clear();
    const all = await Promise.allSettled(nodeTimes);
    const sumMs = all.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : NaN), 0);
    if (alone !== undefined) times?.addAlone(alone, Number.isNaN(sumMs) ? undefined : sumMs / all.length);
  }

  /** Sends each request that has no response yet alone. */
  #sendRestAlone(): void {
    for (const pending of this.#pending.values())
      pending.settle(this.#http.post(pending.request, pending.cancellation));
    this.#pending.clear();
  }

  #fail(reason: unknown): void {
    for (const request of this.#pending.values()) request.fail(reason);
    this.#pending.clear();
  }

  /** @param isResend whether the first attempt failed on a stale connection */
  async #sendTogether(isResend = false): Promise<void> {
    try {
      const { times, onCompared } = this.#options;
      const sent = this.#pending.size;
      const alone = times?.alone;
      const body = `[${Array.from(this.#pending.values(), ({ request }) => request.body).join()}]`;
      const deadline = Math.max(this.#lastDeadline, clock.now()) + TIMEOUT_MARGIN_MS;
      const response = await this.#http.post({ body, deadline }, this.#cancellation);
      const isComplete = await this.#handleResponse(response, sent);
      if (!isComplete || sent < MIN_COMPARED_CALLS) return;
      const isSerial = times?.addTogether(alone, response.nodeMs, sent);
      if (isSerial !== undefined) onCompared(isSerial);
    } catch (error) {
      // Cancelled: the callers of all requests have disconnected. None is pending then.
      if (!(error instanceof UpstreamFailure)) this.#fail(error);
      else if (error.staleConnection && !isResend) await this.#sendTogether(true);
      // The response to the whole batch was too large.
      else if (error.failure === 'malformed') this.#handleRejection();
      else this.#fail(error);
    }
  }

  /**
   * @param sent number of requests in the batch, of which some may have been abandoned since
   * @returns whether it has a response to each of them
   */
  async #handleResponse(response: HttpResponse, sent: number): Promise<boolean> {
    const owner = (this.#cancellation.owner ?? gatehouse).payer.name;
    const responses = await elementsOf(response.body, sent, owner);
    if (responses === undefined) {
      // Some providers reject batches with 403 or 429.
      if (mayConcernCalls(response.status) && !(await this.#succeedsAlone())) this.#settleRest(response);
      this.#handleRejection();
      return false;
    }
    const isComplete = responses.length >= sent;
    const { body: all } = response;
    const mayHaveRejected = isComplete && (all.length > MAX_SEARCHED_BYTES || all.includes(REJECTED_IN_BATCH));
    for (const body of responses) {
      // An error for the whole batch may have the id of one call: geth's `batch too large` has the first one's.
      const isOwn = isComplete ? !mayHaveRejected || !isRejectedInBatch(body) : !body.includes('"error"');
      const found = isOwn ? responseId(body) : undefined;
      const id = found === 'unread' ? await responseIdInSteps(body, new OwnedSteps(owner)) : found;
      if (typeof id === 'number') this.#settle(id, { ...response, body });
    }
    if (isComplete) this.#sendRestAlone();
    else this.#handleRejection();
    return isComplete;
  }

  /** Sends the first request alone. @returns whether the upstream responds to it, with a status that does not concern it */
  async #succeedsAlone(): Promise<boolean> {
    const [pending] = this.#pending.values();
    if (pending === undefined) return false;
    const { id, body, deadline } = pending.request;
    try {
      // Without a turn for large responses: its owner may end the call before this response.
      const response = await this.#http.post({ body, deadline }, this.#cancellation);
      this.#settle(id, response);
      return !mayConcernCalls(response.status);
    } catch (error) {
      if (error instanceof UpstreamFailure) return false;
      throw error;
    }
  }

  #handleRejection(): void {
    if (this.#pending.size > 0) this.#options.onRejected(this.#added);
    this.#sendRestAlone();
  }
}

/**
 * The bytes of each element of an array; those before the error if it is malformed. Undefined: not an array, or more elements
 * than the calls and one error for the batch.
 * @param owner whose time of the event loop it takes
 */
async function elementsOf(body: Buffer, calls: number, owner: string): Promise<Buffer[] | undefined> {
  const reader = new JsonReader(body, { maxDepth: MAX_DEPTH });
  const steps = new OwnedSteps(owner);
  reader.skipSpace();
  if (!reader.isAtArray) return undefined;
  const elements: Buffer[] = [];
  try {
    reader.enterArray();
    while (reader.nextElement()) {
      const start = reader.at;
      while (!reader.skipTowards(reader.at + STEP_BYTES)) await steps.next();
      if (elements.push(body.subarray(start, reader.at)) > calls + 1) return undefined;
    }
    return elements;
  } catch (error) {
    if (error instanceof NotJson) return elements;
    throw error;
  } finally {
    steps.charge();
  }
}

/** Whether an HTTP status without responses may be that of each call: of the gateway's account at the provider, or of the node. */
function mayConcernCalls(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 429 || status >= 500;
}

/** Code of geth's error for calls that do not fit into a batch response: `response too large` (rpc/errors.go). */
const REJECTED_IN_BATCH = '"code":-32003';
/** Bytes of a batch response that are searched at once, in about 0.1 ms; in a longer one, each short element is searched. */
const MAX_SEARCHED_BYTES = 200_000;

function isRejectedInBatch(response: Buffer): boolean {
  return response.length < 300 && response.includes(REJECTED_IN_BATCH);
}
