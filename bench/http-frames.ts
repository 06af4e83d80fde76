const END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/** A message whose body comes in chunks. Trailers are not read. */
interface ChunkedBody {
  readonly head: string;
  readonly body: string[];
}

/**
 * Splits the bytes of a connection into HTTP messages, with Content-Length or in chunks. With Node's parser and streams, a load
 * generator would use more CPU than the program that it measures.
 */
export class HttpFrames {
  readonly #onMessage: (head: string, body: string) => void;
  readonly #onInvalid: (error: Error) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The length of the incomplete message, once its head is complete. */
  #neededBytes = 0;
  /** Body of the incomplete message, if it comes in chunks. */
  #chunked: ChunkedBody | undefined;

  /** @param onMessage is given head and body as latin1 */
  constructor(onMessage: (head: string, body: string) => void, onInvalid: (error: Error) => void) {
    this.#onMessage = onMessage;
    this.#onInvalid = onInvalid;
  }

  feed(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#neededBytes) return;
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    this.#neededBytes = 0;
    for (;;) {
      if (this.#chunked !== undefined) {
        const { head, body } = this.#chunked;
        const read = readChunks(rest, body);
        rest = rest.subarray(read.end);
        if (!read.isLast) break;
        this.#chunked = undefined;
        this.#onMessage(head, body.join(''));
        continue;
      }
      const headEnd = rest.indexOf(END);
      if (headEnd === -1) break;
      const head = rest.toString('latin1', 0, headEnd);
      const length = /content-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) {
        if (!/transfer-encoding: *chunked/i.test(head)) {
          this.#onInvalid(new Error(`no Content-Length: ${head}`));
          return;
        }
        this.#chunked = { head, body: [] };
        rest = rest.subarray(headEnd + END.length);
        continue;
      }
      const end = headEnd + END.length + Number(length);
      if (rest.length < end) {
        this.#neededBytes = end;
        break;
      }
      this.#onMessage(head, rest.toString('latin1', headEnd + END.length, end));
      rest = rest.subarray(end);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }
}

/** Adds the chunks that are complete to the body. @returns their end; `isLast`: the body is complete */
function readChunks(bytes: Buffer, body: string[]): { end: number; isLast: boolean } {
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd === -1) return { end: at, isLast: false };
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + LINE_END.length;
    const end = start + size + LINE_END.length;
    if (bytes.length < end) return { end: at, isLast: false };
    if (size === 0) return { end, isLast: true };
    body.push(bytes.toString('latin1', start, start + size));
    at = end;
  }
}
