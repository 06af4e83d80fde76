/** Smaller chunks are copied, because a Buffer of one byte takes some 200 bytes of memory. */
const COPIED_BELOW_BYTES = 4_096;
const FIRST_BLOCK_BYTES = 256;
const MAX_BLOCK_BYTES = 65_536;

/**
 * Collects the chunks of one body. Small chunks are copied together into blocks, so that a body in chunks of one byte
 * takes at most twice its size. The usual body of one chunk is neither copied nor does it need a list.
 */
export class CollectedBytes {
  /** Length in bytes. Only `add` and `clear` change it. */
  length = 0;
  #first: Buffer | undefined;
  #chunks: Buffer[] | undefined;
  #block: Buffer | undefined;
  #blockLength = 0;

  add(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length === chunk.length) this.#first = chunk;
    else if (chunk.length >= COPIED_BELOW_BYTES) {
      this.#endBlock();
      this.#list().push(chunk);
    } else this.#copy(chunk);
  }

  /** All bytes. The chunks are dropped: their owner may live as long as the body, which would take its size twice. */
  join(): Buffer {
    const isOne = this.#first !== undefined && this.#chunks === undefined && this.#block === undefined;
    if (!isOne) this.#endBlock();
    const bytes = isOne ? (this.#first as Buffer) : Buffer.concat(this.#list(), this.length);
    this.clear();
    return bytes;
  }

  /** Drops the bytes at once, although other objects may still refer to this one. */
  clear(): void {
    this.#first = this.#chunks = this.#block = undefined;
    this.length = this.#blockLength = 0;
  }

  #list(): Buffer[] {
    return (this.#chunks ??= this.#first === undefined ? [] : [this.#first]);
  }

  #copy(chunk: Buffer): void {
    if (this.#block === undefined || this.#blockLength + chunk.length > this.#block.length) {
      this.#endBlock();
      const bytes = Math.min(MAX_BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, this.length, chunk.length));
      this.#block = Buffer.allocUnsafe(bytes);
    }
    this.#blockLength += chunk.copy(this.#block, this.#blockLength);
  }

  #endBlock(): void {
    if (this.#block === undefined) return;
    this.#list().push(this.#block.subarray(0, this.#blockLength));
    this.#block = undefined;
    this.#blockLength = 0;
  }
}
