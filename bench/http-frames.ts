const END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

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
      const headEnd = rest.indexOf(END);
      if (headEnd === -1) break;
      const head = rest.toString('latin1', 0, headEnd);
      const length = /content-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) {
        if (!/transfer-encoding: *chunked/i.test(head)) {
          this.#onInvalid(new Error(`no Content-Length: ${head}`));
          return;
        }
        const chunked = readChunks(rest, headEnd + END.length);
        if (chunked === undefined) break;
        this.#onMessage(head, chunked.body);
        rest = rest.subarray(chunked.end);
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

/** Reads a body in chunks, without trailers. @returns undefined if it is incomplete */
function readChunks(bytes: Buffer, start: number): { body: string; end: number } | undefined {
  let body = '';
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd === -1) return undefined;
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + LINE_END.length + size + LINE_END.length;
    if (bytes.length < end) return undefined;
    if (size === 0) return { body, end };
    body += bytes.toString('latin1', lineEnd + LINE_END.length, lineEnd + LINE_END.length + size);
    at = end;
  }
}
