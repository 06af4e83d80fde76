import type { Socket } from 'node:net';
import { RpcError } from '../jsonrpc/errors.ts';

/**
 * Bounds the requests in progress and the buffered bytes of all callers together. A request above the bounds is rejected
 * at once, so that neither many callers nor large bodies exhaust the memory of the process.
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
   * @param bytes already buffered for the request
   * @throws RpcError overloaded; then nothing is counted
   */
  beginRequest(bytes = 0): void {
    if (this.#requests >= this.#requestsMax) throw new RpcError('overloaded');
    this.reserve(bytes);
    this.#requests++;
  }

  /** @param bytes that are still reserved for the request */
  endRequest(bytes: number): void {
    this.#requests--;
    this.#bytes -= bytes;
  }

  /** @throws RpcError overloaded; then nothing is reserved */
  reserve(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) throw new RpcError('overloaded');
    this.#bytes += bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  /** Reserves bytes that cannot be rejected any more, even above the bound. */
  reserveAnyway(bytes: number): void {
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Bytes that were written to the operating system. Node's socket timeout reads the same member of the handle. */
export function sentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
}
