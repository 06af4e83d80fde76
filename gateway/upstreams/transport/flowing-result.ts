import { isObject } from '../../collections/is-object.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { parseJson } from '../../json/parse-json.ts';
import { ValueEnd } from '../../json/value-end.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import type { BodyRest } from './body-rest.ts';
import { Cancelled } from './cancellation.ts';
import type { CredentialSearch } from './credential-search.ts';
import { findResultStart, isMeaningful } from './response-envelope.ts';
import { malformed, UpstreamFailure } from './upstream-response.ts';

/** Bytes that are passed on in one step. */
const STEP_BYTES = 65_536;
/** Maximum bytes of the envelope after the result. Nodes write 30 bytes at most. */
const MAX_TAIL_BYTES = 4_096;

/** A large result that still arrives. Only a caller that can read it so gets one. */
export interface FlowingResponse {
  readonly kind: 'flowing';
  readonly result: FlowingResult;
  /** Resolves at the end of the result: undefined, or why it is incomplete. Never rejects. */
  readonly ended: Promise<unknown>;
}

/** Narrows a response for calls that cannot read a flowing result, which never get one. */
export function complete<Response extends { readonly kind: string }>(
  response: Response | FlowingResponse,
): Exclude<Response, FlowingResponse> {
  if (response.kind === 'flowing') throw new Error('a flowing result for a call that cannot read it');
  return response as Exclude<Response, FlowingResponse>;
}

export interface FlowingResultOptions {
  /** Id of the request. */
  readonly id: number;
  /** Maximum bytes that are passed on: more are beyond a bound of the network or key. */
  readonly maxBytes: number;
  /** Owner whose time of the event loop it takes to read the first bytes. */
  readonly owner: string;
  /** Search for credentials in what is passed on; undefined: there are none. */
  readonly search?: CredentialSearch | undefined;
}

/** Reads the bytes of a result in their order, and decides what is passed on. */
export interface ResultReader {
  /**
   * @param passed gets the bytes that are passed on
   * @returns the position after the last byte of the result in the chunk; -1: it has not ended
   * @throws UpstreamFailure
   */
  read(chunk: Buffer, passed: Buffer[]): number;
  /** The start of an object, up to its list. */
  readonly head?: Buffer | undefined;
  /** The last element of a list, as it was passed on. */
  readonly last?: Buffer | undefined;
  /** Whether another upstream may have a better result: known before the first bytes are passed on, it is collected. */
  readonly isIrregular?: boolean;
}

/** Passes a result on unread, except for its end. */
export class UnreadResult implements ResultReader {
  readonly #end = new ValueEnd();

  read(chunk: Buffer, passed: Buffer[]): number {
    const end = this.#end.find(chunk);
    passed.push(end === -1 ? chunk : chunk.subarray(0, end));
    return end;
  }
}

/**
 * A large result that is passed on while it arrives. The client's connection takes its bytes. A failure after the first ones
 * must end that connection.
 */
export class FlowingResult {
  /** Resolves when the reader has all bytes, or gets no more. Undefined: it is complete. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Number of bytes that were passed on. */
  bytes = 0;
  readonly #rest: BodyRest;
  readonly #options: FlowingResultOptions;
  readonly #reader: ResultReader;
  /** Whether the envelope has the id before the result, which was compared. */
  readonly #isIdRead: boolean;
  /** The first bytes that are passed on, until the reader takes them. */
  #first: Buffer[] | undefined;
  /** The envelope after the result, once the result has ended. */
  #tail: string | undefined;
  #hasEnded = false;
  #failure: unknown;
  #resolveEnded!: (failure: unknown) => void;

  private constructor(rest: BodyRest, reader: ResultReader, options: FlowingResultOptions, isIdRead: boolean) {
    this.#rest = rest;
    this.#reader = reader;
    this.#options = options;
    this.#isIdRead = isIdRead;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /**
   * Reads the first bytes of a response: up to 1 MB, which takes several turns of the event loop.
   * @returns undefined if the response must be collected: its start is unusual, or it must be parsed
   */
  static async open(
    body: Buffer,
    rest: BodyRest,
    reader: ResultReader,
    options: FlowingResultOptions,
  ): Promise<FlowingResult | undefined> {
    const start = findResultStart(body, options.id);
    if (start === undefined || !ValueEnd.isFoundFor(body[start.at])) return undefined;
    const result = new FlowingResult(rest, reader, options, start.isIdRead);
    const passed: Buffer[] = [];
    try {
      for (let { at } = start; at < body.length; at += STEP_BYTES) {
        const pause = at === start.at ? undefined : timeSlicer.next();
        if (pause !== undefined) await pause;
        turnBudget.run(options.owner, () => {
          result.#read(body.subarray(at, at + STEP_BYTES), passed);
        });
      }
    } catch (error) {
      if (error instanceof UpstreamFailure || error instanceof RpcError) return undefined;
      throw error;
    }
    // The exchange may have failed meanwhile. The caller has no byte yet, so that another upstream can serve it.
    if (reader.isIrregular === true || rest.hasFailed) return undefined;
    result.#first = passed;
    return result;
  }

  /** The start of an object, up to its list. */
  get head(): Buffer | undefined {
    return this.#reader.head;
  }

  /** The last element of a list. */
  get last(): Buffer | undefined {
    return this.#reader.last;
  }

  /** Whether it has what another upstream may have in order. */
  get isIrregular(): boolean {
    return this.#reader.isIrregular === true;
  }

  /** Time when the last byte came from the upstream, by clock.now(). */
  get receivedAt(): number {
    return this.#rest.endedAt;
  }

  /** @returns undefined if `next` need not wait; else a promise that never rejects */
  wait(): Promise<void> | undefined {
    return this.#first === undefined ? this.#rest.wait() : undefined;
  }

  /**
   * The next bytes, which may be none. Undefined: the result is complete.
   * @throws UpstreamFailure, Cancelled, RpcError; then it stays incomplete
   */
  next(): readonly Buffer[] | undefined {
    if (this.#failure !== undefined) throw this.#failure as Error;
    const passed = this.#first ?? [];
    if (this.#first !== undefined) {
      this.#first = undefined;
      return passed;
    }
    try {
      let read = 0;
      for (let chunk = this.#rest.next(); chunk !== undefined; chunk = this.#rest.next()) {
        this.#read(chunk, passed);
        read += chunk.length;
        if (read >= STEP_BYTES) return passed;
      }
      if (read > 0 || !this.#rest.hasEnded) return passed;
      this.#checkTail();
      this.#finish(undefined);
      return undefined;
    } catch (error) {
      this.#finish(error);
      throw error;
    }
  }

  /** The reader has left. */
  cancel(): void {
    this.#finish(new Cancelled());
  }

  #finish(failure: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#failure = failure;
    this.#first = undefined;
    this.#rest.close();
    this.#resolveEnded(failure);
  }

  #read(chunk: Buffer, passed: Buffer[]): void {
    if (this.#tail !== undefined) {
      this.#addTail(chunk);
      return;
    }
    const { maxBytes, search } = this.#options;
    const found: Buffer[] = [];
    const end = this.#reader.read(chunk, found);
    for (const bytes of search?.pass(found, end !== -1) ?? found) {
      this.bytes += bytes.length;
      passed.push(bytes);
    }
    if (this.bytes > maxBytes) throw new RpcError('beyond-bound');
    if (end !== -1) this.#addTail(chunk.subarray(end));
  }

  #addTail(bytes: Buffer): void {
    this.#tail = (this.#tail ?? '') + bytes.toString('latin1', 0, MAX_TAIL_BYTES + 1);
    if (this.#tail.length > MAX_TAIL_BYTES) throw malformed('it has bytes after the result');
  }

  /** The envelope after the result has no other result, no error, and the id unless that came first. */
  #checkTail(): void {
    if (this.#tail === undefined) throw malformed('the result has no end');
    const { id } = this.#options;
    const members = parseJson(`{"":0${this.#tail}`);
    if (!isObject(members)) throw malformed('the response is not JSON');
    if ('result' in members || isMeaningful(members['error'])) throw malformed('it has an error after the result');
    const given = members['id'];
    if (!this.#isIdRead && given !== id && given !== String(id))
      throw malformed('the response has the id of another call');
  }
}
