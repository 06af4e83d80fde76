/** The bytes of a large response in several buffers, so that they need not be copied into one. */
export class BufferList {
  readonly buffers: readonly Buffer[];
  /** Length in bytes. */
  readonly length: number;

  constructor(buffers: readonly Buffer[]) {
    this.buffers = buffers;
    let length = 0;
    for (const buffer of buffers) length += buffer.length;
    this.length = length;
  }

  /** A copy of all bytes. */
  join(): Buffer {
    return Buffer.concat(this.buffers, this.length);
  }

  toString(): string {
    return this.join().toString();
  }
}

/** A JSON text as it is sent. */
export type Body = string | Buffer | BufferList;

export function byteLengthOf(body: Body): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

/** The body in buffers, none of which is copied unless it is a string. */
export function buffersOf(body: Body): readonly Buffer[] {
  if (body instanceof BufferList) return body.buffers;
  return [typeof body === 'string' ? Buffer.from(body) : body];
}
