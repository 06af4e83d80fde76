import { isPlain as arePlain } from './plain-bytes.ts';

const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const UPPER_E = 69;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const LOWER_E = 101;
const LOWER_N = 110;
const LOWER_T = 116;
const LOWER_U = 117;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

const escapable = new Set(Buffer.from('"\\/bfnrt'));
const [NULL, TRUE, FALSE] = [Buffer.from('null'), Buffer.from('true'), Buffer.from('false')];

/** Maximum depth, above any result of a node except for deep traces, which are parsed. */
const MAX_DEPTH = 100;
/** Minimum of a check for plain bytes: for fewer, a check of all of them costs more than it saves. */
const MIN_PLAIN_BYTES = 1_000;
/** Maximum of a search by words: for more bytes, a native search is faster. */
const MAX_WORD_BYTES = 256;
/** Length of the pieces in which a long text that is not plain is checked natively first: a caller can write one character into 24 MB. */
const PIECE_BYTES = 4_096;
/** Number above that of any bytes, as an integer: comparing with Infinity is slower. */
const NEVER = 2 ** 30;
/** Four quotes. */
const QUOTES = 0x22222222;
/** The highest bit of four bytes. */
const HIGH_BITS = 0x80808080 | 0;

/**
 * The bytes are not JSON. No `Error`: its stack would be a tenth of the time of a list that flows, whose chunks end within an
 * element.
 */
export class NotJson {
  /** Position of the first byte that no JSON has there; the number of bytes if they end too early. */
  readonly at: number;

  constructor(at: number) {
    this.at = at;
  }
}

/** The bytes have more values or levels than the reader may skip. They may be JSON. */
export class BeyondLimits extends NotJson {}

export interface JsonReaderOptions {
  /** Maximum of open objects and arrays. */
  readonly maxDepth?: number;
  /** Maximum of values that are skipped, those within others included. */
  readonly maxValues?: number;
  readonly maxNameBytes?: number | undefined;
  /** Whether the bytes are `isPlain`, if that is known. */
  readonly isPlain?: boolean;
}

/**
 * Reads JSON bytes token by token, and creates no values. It is as strict as JSON.parse of the decoded text, except for its
 * limit of depth. A block of 180 kB takes 0.1 ms; decoding, parsing and serialising it takes 0.9 ms (bench/steps.ts).
 *
 * ```
 * reader.enterObject();
 * while (reader.nextMember()) if (!reader.isName(ID)) reader.skipValue();
 * ```
 * Each value must be skipped or entered before the next one. All methods throw NotJson.
 */
export class JsonReader {
  readonly bytes: Buffer;
  /** Position: at the first byte of a value, or after its last one. */
  at = 0;
  /** The name of the last member, within the quotes. */
  nameStart = 0;
  nameEnd = 0;
  /** Four bytes at each position. Undefined: the bytes are not known to be plain. */
  readonly #words: DataView | undefined;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #maxNameBytes: number;
  /** Kind of each depth: whether an object or an array is open. */
  readonly #isObject: boolean[] = [];
  #depth = 0;
  #isFirst = false;
  #values = 0;
  /** Depth of a value that is skipped in steps, until its end. */
  #skippedDepth = -1;

  constructor(
    bytes: Buffer,
    {
      maxDepth = MAX_DEPTH,
      maxValues = NEVER,
      maxNameBytes = NEVER,
      isPlain = bytes.length >= MIN_PLAIN_BYTES && arePlain(bytes),
    }: JsonReaderOptions = {},
  ) {
    this.bytes = bytes;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
    this.#maxNameBytes = maxNameBytes;
    this.#words = isPlain ? new DataView(bytes.buffer, bytes.byteOffset, bytes.length) : undefined;
  }

  /** Skips the space before the first value, or after the last one. */
  skipSpace(): void {
    this.at = skipSpace(this.bytes, this.at);
  }

  get isAtObject(): boolean {
    return this.bytes[this.at] === OPEN_BRACE;
  }

  get isAtArray(): boolean {
    return this.bytes[this.at] === OPEN_BRACKET;
  }

  /** Enters an object, at its opening brace. */
  enterObject(): void {
    this.#enter(OPEN_BRACE);
  }

  /** Enters an array, at its opening bracket. */
  enterArray(): void {
    this.#enter(OPEN_BRACKET);
  }

  /** Moves to the value of the next member. @returns false: the object has ended */
  nextMember(): boolean {
    if (!this.#hasNext(CLOSE_BRACE)) return false;
    this.nameStart = this.at + 1;
    this.skipString();
    this.nameEnd = this.at - 1;
    if (this.nameEnd - this.nameStart > this.#maxNameBytes) exceedAt(this.nameStart);
    if (this.#skipSpaces() !== COLON) failAt(this.at);
    this.at++;
    this.#skipSpaces();
    return true;
  }

  /**
   * Reads the next member, if the bytes up to the value, and its first byte, are those of a member that was read before.
   * @param run these bytes, four in each number. The last four may overlap the four before.
   * @returns false: it has not moved
   */
  nextMemberAs(run: readonly number[], runBytes: number): boolean {
    const all = this.#words;
    const last = this.at + runBytes - 4;
    if (all === undefined || last + 4 > this.bytes.length) return false;
    let index = 0;
    for (let at = this.at; at < last; at += 4) if (all.getInt32(at, true) !== run[index++]) return false;
    if (all.getInt32(last, true) !== run[index]) return false;
    this.at = last + 3;
    this.#isFirst = false;
    return true;
  }

  /** Whether the same plain bytes, at least eight, are at two positions. Eight of them in a number are never NaN or zero. */
  isSame(one: number, other: number, length: number): boolean {
    const all = this.#words;
    const last = length - 8;
    const { length: end } = this.bytes;
    if (all === undefined || last < 0 || one + length > end || other + length > end) return false;
    for (let at = 0; at < last; at += 8)
      if (all.getFloat64(one + at, true) !== all.getFloat64(other + at, true)) return false;
    return all.getFloat64(one + last, true) === all.getFloat64(other + last, true);
  }

  /** Values that were skipped, those within others included. */
  get values(): number {
    return this.#values;
  }

  /** Moves to the next element. @returns false: the array has ended */
  nextElement(): boolean {
    return this.#hasNext(CLOSE_BRACKET);
  }

  /** Whether the last name is written exactly so. */
  isName(name: Buffer): boolean {
    return isAt(name, this.bytes, this.nameStart, this.nameEnd);
  }

  /** Moves to the end of the value that starts here. */
  skipValue(): void {
    this.skipTowards(NEVER);
  }

  /**
   * Moves to the end of the value that starts here, or to a value in it after a position: then it must be called again.
   * @returns whether the value has ended
   */
  skipTowards(position: number): boolean {
    const depth = this.#skippedDepth === -1 ? this.#depth : this.#skippedDepth;
    do {
      if (this.at > position) {
        this.#skippedDepth = depth;
        return false;
      }
      if (++this.#values > this.#maxValues) exceedAt(this.at);
      const byte = this.bytes[this.at];
      if (byte === QUOTE) this.skipString();
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#enter(byte);
      else this.#skipLiteral(byte);
      while (this.#depth > depth && !(this.#isObject[this.#depth] === true ? this.nextMember() : this.nextElement()));
    } while (this.#depth > depth);
    this.#skippedDepth = -1;
    return true;
  }

  skipString(): void {
    if (this.bytes[this.at] !== QUOTE) failAt(this.at);
    this.at = this.#words === undefined ? this.#endOfAnyString(this.at + 1) : this.#endOfPlainString(this.at + 1);
  }

  #enter(open: number): void {
    if (this.bytes[this.at] !== open) failAt(this.at);
    if (this.#depth >= this.#maxDepth) exceedAt(this.at);
    this.#isObject[++this.#depth] = open === OPEN_BRACE;
    this.#isFirst = true;
    this.at++;
  }

  #hasNext(close: number): boolean {
    const byte = this.#skipSpaces();
    if (byte === close) {
      this.at++;
      this.#depth--;
      this.#isFirst = false;
      return false;
    }
    if (this.#isFirst) this.#isFirst = false;
    else {
      if (byte !== COMMA) failAt(this.at);
      this.at++;
      this.#skipSpaces();
    }
    return true;
  }

  /** The byte after white space, of which there is usually none. */
  #skipSpaces(): number | undefined {
    const byte = this.bytes[this.at];
    if (byte === undefined || byte > 32) return byte;
    this.skipSpace();
    return this.bytes[this.at];
  }

  /** Four bytes at a time: subtracting an ASCII byte from 128 sets its highest bit only if the byte is 0. */
  #endOfPlainString(start: number): number {
    const all = this.#words as DataView;
    const last = Math.min(this.bytes.length - 4, start + MAX_WORD_BYTES);
    let at = start;
    for (; at <= last; at += 4) {
      const quotes = (HIGH_BITS - (all.getInt32(at, true) ^ QUOTES)) & HIGH_BITS;
      if (quotes !== 0) return at + ((31 - Math.clz32(quotes & -quotes)) >> 3) + 1;
    }
    const quote = this.bytes.indexOf(QUOTE, at);
    if (quote === -1) failAt(this.bytes.length);
    return quote + 1;
  }

  #endOfAnyString(start: number): number {
    const { bytes } = this;
    let at = start;
    for (let pieceAt = start + MAX_WORD_BYTES; ; pieceAt = at + PIECE_BYTES) {
      while (at < pieceAt) {
        const byte = bytes[at];
        if (byte === QUOTE) return at + 1;
        if (byte === undefined || byte < 32) failAt(at);
        at = byte === BACKSLASH ? this.#endOfEscape(at + 1) : at + 1;
      }
      at = endOfPlainPieces(bytes, at);
    }
  }

  #endOfEscape(start: number): number {
    const byte = this.bytes[start] ?? 0;
    if (byte !== LOWER_U) {
      if (!escapable.has(byte)) failAt(start);
      return start + 1;
    }
    for (let at = start + 1; at <= start + 4; at++) if (!isHexDigit(this.bytes[at])) failAt(at);
    return start + 5;
  }

  #skipLiteral(first: number | undefined): void {
    if (first === MINUS || isDigit(first)) {
      this.#skipNumber();
      return;
    }
    const word = first === LOWER_N ? NULL : first === LOWER_T ? TRUE : FALSE;
    for (let index = 0; index < word.length; index++) {
      if (this.bytes[this.at] !== word[index]) failAt(this.at);
      this.at++;
    }
  }

  #skipNumber(): void {
    const { bytes } = this;
    if (bytes[this.at] === MINUS) this.at++;
    if (bytes[this.at] === ZERO) this.at++;
    else this.#skipDigits();
    if (bytes[this.at] === DOT) {
      this.at++;
      this.#skipDigits();
    }
    if (bytes[this.at] === LOWER_E || bytes[this.at] === UPPER_E) {
      this.at++;
      if (bytes[this.at] === PLUS || bytes[this.at] === MINUS) this.at++;
      this.#skipDigits();
    }
  }

  #skipDigits(): void {
    if (!isDigit(this.bytes[this.at])) failAt(this.at);
    do this.at++;
    while (isDigit(this.bytes[this.at]));
  }
}

function failAt(position: number): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- see NotJson
  throw new NotJson(position);
}

function exceedAt(position: number): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- see NotJson
  throw new BeyondLimits(position);
}

/** The position up to which a text goes on in plain pieces without its closing quote. */
function endOfPlainPieces(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    if (piece.length < PIECE_BYTES || piece.includes(QUOTE) || !arePlain(piece)) return at;
    at += PIECE_BYTES;
  }
}

/** The position of the first byte from `start` on that is no white space. */
export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  for (let byte = bytes[at]; byte === 32 || byte === 10 || byte === 13 || byte === 9;) byte = bytes[++at];
  return at;
}

/** Whether `bytes` has exactly these bytes from `start` to `end`. For few bytes, a loop is faster than `compare`. */
export function isAt(expected: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = expected;
  if (end - start !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== expected[index]) return false;
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 32) >= 97 && (byte | 32) <= 102);
}
