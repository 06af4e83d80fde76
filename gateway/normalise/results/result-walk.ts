import { endOfLiteral, endOfString, NotJson, skipSpace } from '../../jsonrpc/json-bytes.ts';
import { fieldNamed, isAt, type Field, type ObjectView } from './object-view.ts';
import type { Layout } from './layout.ts';

/** Thrown to end a walk from any depth. Created once, because its stack is not needed. */
export const mustBeParsed = new Error('must be parsed');

/** In place of the first byte of an element: all are accepted. */
export const ANY = 0;

/** A field whose value a parameter determines. */
export interface ExpectedBytes {
  readonly name: string;
  readonly value: Buffer;
}

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const ONE = 49;
const NINE = 57;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** Bytes of `"0x0"`. */
const ZERO_LENGTH = 5;
/** The start of the zero hash. */
const ZERO_HASH_START = Buffer.from('"0x000000000000');
/** Above any result of a node, and far below the limit of the stack. */
const MAX_DEPTH = 100;
/** Four quotes. */
const QUOTES = 0x22222222;
/** The highest bit of four bytes. */
const HIGH_BITS = 0x80808080 | 0;

/**
 * Walks the bytes of one large result once, and checks every name and value. Names are compared with learned layouts,
 * four bytes at a time, and read one by one where they differ. Each method returns the end of the part that it walks.
 */
export class ResultWalk {
  readonly #bytes: Buffer;
  readonly #words: DataView;
  /** The last position at which four bytes start. */
  readonly #lastWord: number;
  readonly #view: ObjectView;
  readonly #expected: readonly ExpectedBytes[];
  /** Bits of the fields in the object that ended last. */
  #found = 0;

  /**
   * @param bytes must be `isPlain`
   * @param view of the result, or of each object in it
   * @param expected fields of these objects
   */
  constructor(bytes: Buffer, view: ObjectView, expected: readonly ExpectedBytes[]) {
    this.#bytes = bytes;
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#lastWord = bytes.length - 4;
    this.#view = view;
    this.#expected = expected;
  }

  get found(): number {
    return this.#found;
  }

  /** @param layout the start of the objects in the value @throws NotJson */
  endOfValue(start: number, layout: Layout, depth: number): number {
    switch (this.#bytes[start]) {
      case QUOTE:
        return this.#endOfText(start + 1);
      case OPEN_BRACE:
        return this.endOfObject(start, layout, ANY, depth);
      case OPEN_BRACKET:
        return this.endOfArray(start, layout, ANY, depth);
      default:
        return endOfLiteral(this.#bytes, start);
    }
  }

  /**
   * Checks the objects of an array by their layout; other elements are only walked.
   * @param element the first byte of each element, or ANY
   * @throws NotJson, mustBeParsed
   */
  endOfArray(start: number, layout: Layout, element: number, depth: number): number {
    if (depth > MAX_DEPTH) throw new NotJson();
    const bytes = this.#bytes;
    const { whole } = layout.view;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    for (;;) {
      if (element !== ANY && bytes[at] !== element) throw mustBeParsed;
      const isObject = bytes[at] === OPEN_BRACE;
      at = this.endOfValue(at, layout, depth + 1);
      // A field that is missing in an element must be added there.
      if (isObject && this.#found !== whole) throw mustBeParsed;
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE_BRACKET) return at + 1;
      if (bytes[at] !== COMMA) throw new NotJson();
      at = skipSpace(bytes, at + 1);
    }
  }

  /**
   * @param element the first byte of each transaction in a block, by the caller's flag; ANY for other objects
   * @throws NotJson, mustBeParsed
   */
  endOfObject(start: number, layout: Layout, element: number, depth: number): number {
    if (depth > MAX_DEPTH) throw new NotJson();
    const bytes = this.#bytes;
    const isIdentified = this.#expected.length > 0 && layout.view === this.#view;
    let last = layout;
    let at = start;
    for (;;) {
      const next = this.#nextLearned(last, at) ?? this.#nextMember(last, at);
      if (next === undefined) break;
      last = next;
      const value = at + last.runBytes - 1;
      if (last.isText) {
        at = this.#endOfText(value + 1);
        if (last.field !== undefined && !isUnchangedText(last.field, bytes, value, at)) throw mustBeParsed;
      } else at = this.#endOfMember(last, value, element, depth + 1);
      if (isIdentified) this.#compareIdentity(last, value, at);
    }
    this.#found = last.found;
    return skipSpace(bytes, at === start ? start + 1 : at) + 1;
  }

  /** The layout of the member at this position, if it has followed these members before. */
  #nextLearned({ next }: Layout, at: number): Layout | undefined {
    for (let index = 0; index < next.length; index++) {
      const layout = next[index] as Layout;
      if (this.#isRun(layout, at)) return layout;
    }
    return undefined;
  }

  #isRun({ words, runBytes }: Layout, at: number): boolean {
    const all = this.#words;
    const lastWord = at + runBytes - 4;
    if (lastWord > this.#lastWord) return false;
    let index = 0;
    for (let word = at; word < lastWord; word += 4) if (all.getInt32(word, true) !== words[index++]) return false;
    return all.getInt32(lastWord, true) === words[index];
  }

  /**
   * Reads the name of a member without a learned layout, and learns it.
   * @returns undefined at the end of the object
   */
  #nextMember(layout: Layout, start: number): Layout | undefined {
    const bytes = this.#bytes;
    const isFirst = layout.runBytes === 0;
    let at = skipSpace(bytes, isFirst ? start + 1 : start);
    if (bytes[at] === CLOSE_BRACE) return undefined;
    if (!isFirst) {
      if (bytes[at] !== COMMA) throw new NotJson();
      at = skipSpace(bytes, at + 1);
    }
    const nameStart = at + 1;
    const nameEnd = endOfString(bytes, at) - 1;
    at = skipSpace(bytes, nameEnd + 1);
    if (bytes[at] !== COLON) throw new NotJson();
    at = skipSpace(bytes, at + 1);
    if (at === bytes.length) throw new NotJson();
    const field = fieldNamed(layout.view, bytes, nameStart, nameEnd);
    return layout.with(field, bytes.toString('latin1', nameStart, nameEnd), bytes.subarray(start, at + 1));
  }

  #endOfMember(layout: Layout, value: number, element: number, depth: number): number {
    const { field, inner } = layout;
    const bytes = this.#bytes;
    if (field === undefined) return this.endOfValue(value, inner, depth);
    const isArray = bytes[value] === OPEN_BRACKET;
    if (field.canHaveHashes && element !== ANY && !isArray) throw mustBeParsed;
    const end = isArray
      ? this.endOfArray(value, inner, field.canHaveHashes ? element : ANY, depth)
      : this.endOfValue(value, inner, depth);
    if (!isUnchanged(field, bytes, value, end)) throw mustBeParsed;
    return end;
  }

  #compareIdentity({ name }: Layout, value: number, end: number): void {
    for (const one of this.#expected) {
      if (one.name === name && !isAt(one.value, this.#bytes, value, end)) throw mustBeParsed;
    }
  }

  /** Four bytes at a time: subtracting a byte from 128 sets its highest bit only if the byte is 0. */
  #endOfText(start: number): number {
    const words = this.#words;
    const last = this.#lastWord;
    let at = start;
    for (; at <= last; at += 4) {
      const quotes = (HIGH_BITS - (words.getInt32(at, true) ^ QUOTES)) & HIGH_BITS;
      if (quotes !== 0) return at + ((31 - Math.clz32(quotes & -quotes)) >> 3) + 1;
    }
    const bytes = this.#bytes;
    while (at < bytes.length && bytes[at] !== QUOTE) at++;
    if (at === bytes.length) throw new NotJson();
    return at + 1;
  }
}

function isUnchanged(field: Field, bytes: Buffer, start: number, end: number): boolean {
  const { needsCompletion, rule } = field;
  if (needsCompletion) return false;
  const first = bytes[start] ?? 0;
  if (first === QUOTE) return isUnchangedText(field, bytes, start, end);
  // A JSON number must become a hexadecimal quantity.
  return rule !== 'block-hash' && rule !== 'status' && (rule !== 'quantity' || !isNumber(first));
}

function isUnchangedText({ rule }: Field, bytes: Buffer, start: number, end: number): boolean {
  switch (rule) {
    case 'any':
      return true;
    case 'quantity':
      // Neither "0x" nor leading zeros, except in "0x0".
      return end - start === ZERO_LENGTH || (bytes[start + 3] !== ZERO && end - start !== ZERO_LENGTH - 1);
    case 'address':
      return end - start > ZERO_LENGTH;
    case 'block-hash':
      return !isAt(ZERO_HASH_START, bytes, start, start + ZERO_HASH_START.length);
    case 'status':
      return end - start === ZERO_LENGTH && (bytes[start + 3] === ZERO || bytes[start + 3] === ONE);
  }
}

function isNumber(first: number): boolean {
  return first === MINUS || (first >= ZERO && first <= NINE);
}
