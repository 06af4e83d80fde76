import { RpcError } from './jsonrpc/errors.ts';

/** Long enough for what is under way to end, short enough that a good caller loses nothing. */
const RETRY_AFTER_S = 1;

/**
 * What all callers together have under way. Past its bounds a request is refused at once, so that no number of callers
 * and no size of bodies ends the process for want of memory.
 */
export class Load {
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
  begin(bytes = 0): void {
    if (this.#requests >= this.#requestsMax) throw overloaded();
    this.hold(bytes);
    this.#requests++;
  }

  /** @param bytes that it held until now */
  end(bytes: number): void {
    this.#requests--;
    this.#bytes -= bytes;
  }

  /** @throws RpcError overloaded; the bytes are not held then */
  hold(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) throw overloaded();
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

function overloaded(): RpcError {
  return new RpcError('overloaded', undefined, { retryAfterS: RETRY_AFTER_S });
}
