const QUOTE = 34;
const BACKSLASH = 92;
/** For shorter strings, a loop is faster than a native search. */
const SHORT_BYTES = 32;

const [OTHER, STRING, OPEN, CLOSE] = [0, 1, 2, 3];
/** Kind of each byte outside of strings: the value that it begins or ends. */
const kinds = new Uint8Array(256);
kinds[QUOTE] = STRING;
for (const bracket of Buffer.from('[{')) kinds[bracket] = OPEN;
for (const bracket of Buffer.from(']}')) kinds[bracket] = CLOSE;

/**
 * Finds the end of an object, an array or a string that arrives in chunks. It reads strings and brackets only, so that a
 * value that has an end need not be JSON.
 */
export class ValueEnd {
  #depth: number;
  #isInString = false;
  /** An odd number of backslashes at the end of the last chunk. */
  #isEscaped = false;

  /** @param depth of the objects and arrays that have begun already */
  constructor(depth = 0) {
    this.#depth = depth;
  }

  /** Whether a value that begins with this byte has an end of its own. */
  static isFoundFor(firstByte: number | undefined): boolean {
    const kind = kinds[firstByte ?? 0];
    return kind === STRING || kind === OPEN;
  }

  /** @returns the position after the last byte of the value; -1: it has not ended */
  find(bytes: Buffer): number {
    const { length } = bytes;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let at = 0;
    for (;;) {
      if (isInString) {
        const near = at + SHORT_BYTES < length ? at + SHORT_BYTES : length;
        let quote = at;
        while (quote < near && bytes[quote] !== QUOTE) quote++;
        if (quote === near || quote === 0 || bytes[quote - 1] === BACKSLASH) quote = this.#findQuote(bytes, at);
        if (quote === -1) break;
        at = quote + 1;
        isInString = false;
        if (depth === 0) return at;
      }
      while (at < length && kinds[bytes[at] as number] === OTHER) at++;
      if (at >= length) break;
      const kind = kinds[bytes[at++] as number];
      if (kind === STRING) isInString = true;
      else if (kind === OPEN) depth++;
      else if (--depth <= 0) return at;
    }
    this.#depth = depth;
    this.#isInString = isInString;
    return -1;
  }

  /** The position of the closing quote; -1: the string has not ended. @param start of the string in this chunk */
  #findQuote(bytes: Buffer, start: number): number {
    let at = bytes.indexOf(QUOTE, start);
    while (at !== -1 && this.#isEscapedAt(bytes, at, start)) at = bytes.indexOf(QUOTE, at + 1);
    this.#isEscaped = at === -1 && this.#isEscapedAt(bytes, bytes.length, start);
    return at;
  }

  /** Whether the byte is after an odd number of backslashes. @param start of the string in this chunk */
  #isEscapedAt(bytes: Buffer, at: number, start: number): boolean {
    let before = at - 1;
    while (before >= start && bytes[before] === BACKSLASH) before--;
    const isOdd = (at - 1 - before) % 2 === 1;
    // The string began in an earlier chunk.
    return before < start && start === 0 ? isOdd !== this.#isEscaped : isOdd;
  }
}
