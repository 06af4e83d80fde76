const END = Buffer.from('\r\n\r\n');

/**
 * Cuts what comes over a connection into HTTP messages with a Content-Length: of Node's own parser and streams a load
 * generator would need more CPU than what it measures.
 */
export class HttpFrames {
  readonly #onMessage: (head: string, body: string) => void;
  readonly #onGarbage: (error: Error) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the message under way, once its head is there. */
  #needed = 0;

  /** @param onMessage is given head and body as latin1 */
  constructor(onMessage: (head: string, body: string) => void, onGarbage: (error: Error) => void) {
    this.#onMessage = onMessage;
    this.#onGarbage = onGarbage;
  }

  feed(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return;
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    this.#needed = 0;
    for (;;) {
      const headEnd = rest.indexOf(END);
      if (headEnd === -1) break;
      const head = rest.toString('latin1', 0, headEnd);
      const length = /content-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) {
        this.#onGarbage(new Error(`no Content-Length: ${head}`));
        return;
      }
      const end = headEnd + END.length + Number(length);
      if (rest.length < end) {
        this.#needed = end;
        break;
      }
      this.#onMessage(head, rest.toString('latin1', headEnd + END.length, end));
      rest = rest.subarray(end);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }
}
