import type { Socket } from 'node:net';
import { RpcError } from '../jsonrpc/errors.ts';

/** Long enough for what is under way to end, short enough that a good caller loses nothing. */
const RETRY_AFTER_S = 1;

/**
 * What all callers together have under way. Past its bounds a request is refused at once, so that no number of callers
 * and no size of bodies ends the process for want of memory.
 */
export class MemoryBudget {
  readonly #requestsMax: number;
  readonly #bytesMax: number;
  #requests = 0;
  #bytes = 0;

  constructor({ requestsMax, bytesMax }: { requestsMax: number; bytesMax: number }) {
    this.#requestsMax = requestsMax;
    this.#bytesMax = bytesMax;
  }

  /**
   * @param bytes that it holds already
   * @throws RpcError overloaded; it has not begun then
   */
  beginRequest(bytes = 0): void {
    if (this.#requests >= this.#requestsMax) throw overloaded();
    this.reserve(bytes);
    this.#requests++;
  }

  /** @param bytes that it held until now */
  endRequest(bytes: number): void {
    this.#requests--;
    this.#bytes -= bytes;
  }

  /** @throws RpcError overloaded; the bytes are not held then */
  reserve(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) throw overloaded();
    this.#bytes += bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  /** What cannot be refused any more. */
  reserveAnyway(bytes: number): void {
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Bytes that the other side has taken from us. Node's own socket timeout looks at the same member of the handle. */
export function sentBytes(wire: Socket): number {
  const { _handle: handle } = wire as { _handle?: { writeQueueSize?: number } | null };
  return wire.bytesWritten - wire.writableLength - (handle?.writeQueueSize ?? 0);
}

function overloaded(): RpcError {
  return new RpcError('overloaded', undefined, { retryAfterS: RETRY_AFTER_S });
}
