import { NotJson, endOfValue, skipSpace, walkArray } from '../jsonrpc/json-bytes.ts';
import { Cancellation } from './cancellation.ts';
import type { HttpReply, HttpUpstream } from './http-upstream.ts';
import type { MethodGroup } from './method-group.ts';
import { replyId } from './reply-id.ts';
import { UpstreamFailure } from './reply.ts';
import type { Transport } from './transport.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** Erigon's default (--rpc.batch.limit), the least that a node is known to take. */
const CALLS_MAX = 100;

/** An upstream that refused a batch gets none for so long. */
const REFUSED_FOR_MS = 60_000;

/** So that each call's own limit is reached first. */
const MARGIN_MS = 100;

const OPEN_BRACKET = 91;

/** Calls that take long would hold up those beside them. */
const mayShare: ReadonlySet<MethodGroup | undefined> = new Set(['lookup', 'execution']);

/**
 * An upstream that takes batches. What is to be asked in one turn of the event loop goes in one request, the quick
 * methods apart from those that execute code: no call waits for another to come, and a busy gateway spends 40 % less CPU
 * a call (measured 2026-11-21, 64 connections: 69 µs, one by one 109, pipelined 95).
 */
export class BatchingUpstream implements Transport {
  readonly secrets: readonly string[];
  readonly #http: HttpUpstream;
  readonly #next = new Map<MethodGroup, Batch>();
  #refusedUntil = -Infinity;

  constructor(http: HttpUpstream) {
    this.#http = http;
    this.secrets = http.secrets;
  }

  /** @throws UpstreamFailure, Cancelled */
  exchange(
    body: string,
    limitMs: number,
    id: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<HttpReply> {
    if (group === undefined || !mayShare.has(group) || performance.now() < this.#refusedUntil)
      return this.#http.exchange(body, limitMs, id, cancellation);
    let batch = this.#next.get(group);
    if (batch === undefined) {
      batch = new Batch(this.#http, () => {
        this.#refusedUntil = performance.now() + REFUSED_FOR_MS;
      });
      this.#next.set(group, batch);
      setImmediate(() => {
        this.#send(group);
      });
    }
    const reply = batch.add(body, limitMs, id, cancellation);
    // What was scheduled then finds the next batch of the group, if any: sent a little early, it is no worse.
    if (batch.size === CALLS_MAX) this.#send(group);
    return reply;
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #send(group: MethodGroup): void {
    const batch = this.#next.get(group);
    this.#next.delete(group);
    void batch?.send();
  }
}

/** What goes in one request. */
class Batch {
  readonly #http: HttpUpstream;
  readonly #onRefused: () => void;
  readonly #waiting = new WaitingCalls(() => {
    if (this.#waiting.size === 0) this.#request?.breakOff();
  });
  #request: Cancellation | undefined;
  #limitMs = 0;

  /** @param onRefused the upstream does not want batches, or none like this */
  constructor(http: HttpUpstream, onRefused: () => void) {
    this.#http = http;
    this.#onRefused = onRefused;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(body: string, limitMs: number, id: number, cancellation: Cancellation | undefined): Promise<HttpReply> {
    this.#limitMs = Math.max(this.#limitMs, limitMs);
    return this.#waiting.wait(body, limitMs, id, cancellation);
  }

  async send(): Promise<void> {
    if (this.#waiting.size < 2) {
      this.#askOneByOne();
      return;
    }
    try {
      this.#request = new Cancellation();
      const body = `[${this.#waiting.bodies().join()}]`;
      this.#received(await this.#http.exchange(body, this.#limitMs + MARGIN_MS, 0, this.#request));
    } catch (error) {
      // The caller of each has left.
      if (!(error instanceof UpstreamFailure)) return;
      // All of it together was too large.
      if (error.failure === 'malformed') this.#askOneByOne();
      else this.#waiting.fail(error);
    }
  }

  #received({ status, body, retryAfter }: HttpReply): void {
    const replies = elementsOf(body);
    if (replies === undefined && !isOfUpstream(status)) this.#onRefused();
    else if (replies === undefined)
      for (const id of this.#waiting.ids()) this.#waiting.settle(id, { status, body, retryAfter });
    for (const reply of replies ?? []) {
      const id = isRefusedInBatch(reply) ? undefined : replyId(reply);
      if (typeof id === 'number') this.#waiting.settle(id, { status, body: reply, retryAfter });
    }
    this.#askOneByOne();
  }

  /** Those that are left. */
  #askOneByOne(): void {
    for (const id of this.#waiting.ids()) {
      const call = this.#waiting.take(id);
      if (call === undefined) continue;
      const { body, until, cancellation, resolve, reject } = call;
      this.#http.exchange(body, Math.max(1, until - performance.now()), id, cancellation).then(resolve, reject);
    }
  }
}

/** The elements of an array, as they stand in it. Undefined: it is something else. */
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

/** Whether a status that came without replies is about the upstream or our account there, not about the batch. */
function isOfUpstream(status: number): boolean {
  return status >= 500 || status === 401 || status === 402 || status === 403 || status === 429;
}

/** geth, of all that no longer fits into its answer to a batch: `response too large` (rpc/errors.go, -32003). */
function isRefusedInBatch(reply: Buffer): boolean {
  return reply.length < 300 && reply.includes('"code":-32003');
}
