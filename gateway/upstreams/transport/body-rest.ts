import { clock } from '../../clock/clock.ts';
import type { RpcError } from '../../jsonrpc/errors.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import type { Cancelled } from './cancellation.ts';
import type { UpstreamFailure } from './upstream-response.ts';

/** Why an exchange has no response. RpcError: the memory budget is used up, which is no upstream failure. */
export type Failure = UpstreamFailure | Cancelled | RpcError;

/** Smaller chunks are joined, because a Buffer of one byte takes some 200 bytes of memory. */
const JOINED_BELOW_BYTES = 4_096;

/**
 * The bytes of a response that arrive after its first ones were passed on. One reader takes them in order. They arrive as fast
 * as the upstream sends them, whatever the reader does: the memory budget and the maximum size of a response bound them.
 */
export class BodyRest {
  /** Resolves when no byte arrives any more. Undefined: the response is complete. Never rejects. */
  readonly ended: Promise<Failure | undefined>;
  /** Time when the body ended, by clock.now(). */
  endedAt = Infinity;
  readonly #chunks: Buffer[] = [];
  readonly #small = new CollectedBytes();
  #failure: Failure | undefined;
  #resolveEnded!: (failure: Failure | undefined) => void;
  #wake: (() => void) | undefined;
  /** Bytes taken from the memory budget. */
  #takenBytes: number;
  /** Bytes of them that the reader has. */
  #readBytes: number;
  readonly #release: (bytes: number) => void;
  readonly #cancel: () => void;

  /**
   * @param firstBytes length of the first bytes, which are taken from the memory budget too
   * @param release gives bytes back to the memory budget
   * @param cancel ends the exchange
   */
  constructor(firstBytes: number, release: (bytes: number) => void, cancel: () => void) {
    this.#takenBytes = this.#readBytes = firstBytes;
    this.#release = release;
    this.#cancel = cancel;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Adds bytes that are taken from the memory budget. */
  add(chunk: Buffer): void {
    this.#takenBytes += chunk.length;
    if (chunk.length < JOINED_BELOW_BYTES) this.#small.add(chunk);
    else {
      this.#endSmall();
      this.#chunks.push(chunk);
    }
    this.#wakeReader();
  }

  end(failure?: Failure): void {
    if (this.hasEnded) return;
    this.endedAt = clock.now();
    this.#failure = failure;
    this.#endSmall();
    this.#resolveEnded(failure);
    this.#wakeReader();
  }

  get hasEnded(): boolean {
    return this.endedAt !== Infinity;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** @returns undefined if `next` need not wait; else a promise that never rejects */
  wait(): Promise<void> | undefined {
    if (this.#chunks.length > 0 || this.#small.length > 0 || this.hasEnded) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** The next bytes. Those before are given back to the memory budget. Undefined: there are none now. @throws Failure */
  next(): Buffer | undefined {
    this.#giveBack(this.#readBytes);
    if (this.#chunks.length === 0) this.#endSmall();
    const chunk = this.#chunks.shift();
    this.#readBytes = chunk?.length ?? 0;
    if (chunk === undefined && this.#failure !== undefined) throw this.#failure;
    return chunk;
  }

  /** The whole body, when it has arrived. @param first the first bytes @throws Failure (rejects with it) */
  async collect(first: Buffer): Promise<Buffer> {
    const failure = await this.ended;
    const body = Buffer.concat([first, ...this.#chunks]);
    this.close();
    if (failure !== undefined) throw failure;
    return body;
  }

  /** The reader needs no more bytes. An exchange in progress is cancelled. */
  close(): void {
    this.#chunks.length = 0;
    this.#small.clear();
    this.#giveBack(this.#takenBytes);
    if (!this.hasEnded) this.#cancel();
  }

  #giveBack(bytes: number): void {
    this.#takenBytes -= bytes;
    this.#readBytes = 0;
    if (bytes > 0) this.#release(bytes);
  }

  #endSmall(): void {
    if (this.#small.length > 0) this.#chunks.push(this.#small.join());
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
