import { isAt, type JsonReader } from '../../json/json-reader.ts';
import { MAX_MEMBERS } from '../../spec/result-bounds.ts';
import type { Layout } from './layout.ts';
import { REPEATED_MEMBERS, type LogFilterCheck } from './log-filter-check.ts';
import type { FieldRule } from './object-rules.ts';
import { plainView, type ObjectView } from './object-view.ts';

/** Error that is thrown to end a walk from any depth. Created once, because its stack is not needed. */
export const mustBeParsed = new Error('must be parsed');

/** Mark in place of the first byte of an element: all are accepted. */
export const ANY = 0;

/** A field whose value a parameter determines. */
export interface ExpectedBytes {
  readonly name: string;
  readonly value: Buffer;
}

const QUOTE = 34;
const ZERO = 48;
/** Length of a hash with its quotes. */
const HASH_BYTES = 68;
const LOWER_N = 110;
const OPEN_BRACE = 123;

/**
 * Reads the bytes of one large result once, and checks every name and value. Names are compared with learned layouts,
 * four bytes at a time, and read one by one where they differ. All methods throw NotJson and mustBeParsed.
 */
export class ResultWalk {
  readonly reader: JsonReader;
  readonly #view: ObjectView;
  readonly #expected: readonly ExpectedBytes[];
  readonly #logs: LogFilterCheck | undefined;
  /** Bits of the fields in the object that ended last. */
  #found = 0;
  /** The position of the hash in the last object with the view of the result; -1: it has none. */
  #hashAt = -1;

  /**
   * @param reader of plain bytes
   * @param view of the result, or of each object in it
   * @param expected fields of these objects
   * @param logs if these objects are logs of a filter
   */
  constructor(reader: JsonReader, view: ObjectView, expected: readonly ExpectedBytes[], logs?: LogFilterCheck) {
    this.reader = reader;
    this.#view = view;
    this.#expected = expected;
    this.#logs = logs;
    logs?.enter(reader.bytes);
  }

  get found(): number {
    return this.#found;
  }

  /** The hash of the last object with the view of the result. */
  get hash(): string | undefined {
    const at = this.#hashAt;
    return at === -1 ? undefined : this.reader.bytes.toString('latin1', at + 1, at + HASH_BYTES - 1);
  }

  /** @param layout the start of the objects in the value */
  checkValue(layout: Layout): void {
    const reader = this.reader;
    if (reader.isAtObject) this.checkObject(layout, ANY);
    else if (reader.isAtArray) this.checkArray(layout, ANY);
    else reader.skipValue();
  }

  /**
   * Checks the objects of an array by their layout.
   * @param element the first byte of each element, or ANY
   */
  checkArray(layout: Layout, element: number): void {
    const reader = this.reader;
    const { whole } = layout.view;
    reader.enterArray();
    while (reader.nextElement()) {
      const first = reader.bytes[reader.at];
      if (element !== ANY && first !== element) throw mustBeParsed;
      if (first === QUOTE) reader.skipString();
      else this.checkValue(layout);
      // A field that is missing in an element must be added there.
      if (first === OPEN_BRACE && this.#found !== whole) throw mustBeParsed;
    }
  }

  /** @param element the first byte of each transaction in a block, by the caller's flag; ANY for other objects */
  checkObject(start: Layout, element: number): void {
    const reader = this.reader;
    const isOwn = start.view === this.#view;
    const isIdentified = isOwn && this.#expected.length > 0;
    const logs = isOwn ? this.#logs : undefined;
    const places = logs?.places;
    if (isOwn) this.#hashAt = -1;
    let last = start;
    reader.enterObject();
    let members = 0;
    for (let next = this.#nextMember(last); next !== undefined; next = this.#nextMember(last)) {
      last = next;
      if (++members > MAX_MEMBERS && this.#view !== plainView) throw mustBeParsed;
      const value = reader.at;
      const { checked } = last;
      // The rule and the expected value are those of the log before, too.
      if (logs !== undefined && checked >= 0 && checked < REPEATED_MEMBERS && logs.skipRepeated(checked, reader))
        continue;
      const rule = last.field?.rule;
      if (last.isText) {
        reader.skipString();
        if (isOwn && reader.at - value === HASH_BYTES && last.name === 'hash') this.#hashAt = value;
        if (rule !== undefined && !fitsText(rule, reader.bytes, value + 1, reader.at - 1)) throw mustBeParsed;
      } else {
        this.#checkOther(last, element);
        if (rule !== undefined && !rule.fits(valueOf(reader.bytes, value, reader.at))) throw mustBeParsed;
      }
      if (isIdentified) this.#compareIdentity(last, value, reader.at);
      if (places !== undefined && checked >= 0) {
        places[2 * checked] = value;
        places[2 * checked + 1] = reader.at;
      }
    }
    this.#found = last.found;
    if (logs !== undefined && (last.found !== start.view.whole || !logs.leaveLog(reader))) throw mustBeParsed;
  }

  /** The layout up to the next member; learned if it has not followed these members before. */
  #nextMember(layout: Layout): Layout | undefined {
    const reader = this.reader;
    const { next, view } = layout;
    for (let index = 0; index < next.length; index++) {
      const learned = next[index] as Layout;
      if (reader.nextMemberAs(learned.words, learned.runBytes)) return learned;
    }
    const start = reader.at;
    if (!reader.nextMember()) return undefined;
    // A layout has the first byte of the value.
    if (reader.at === reader.bytes.length) throw mustBeParsed;
    const name = reader.bytes.toString('latin1', reader.nameStart, reader.nameEnd);
    return layout.with(view.fields.get(name), name, reader.bytes.subarray(start, reader.at + 1));
  }

  #checkOther({ field, inner }: Layout, element: number): void {
    const canHaveHashes = field?.canHaveHashes === true;
    if (this.reader.isAtArray) this.checkArray(inner, canHaveHashes ? element : ANY);
    else if (canHaveHashes && element !== ANY) throw mustBeParsed;
    else this.checkValue(inner);
  }

  #compareIdentity({ name }: Layout, value: number, end: number): void {
    for (const one of this.#expected) {
      if (one.name === name && !isAt(one.value, this.reader.bytes, value, end)) throw mustBeParsed;
    }
  }
}

/** Nulls are frequent, and the only values that start so. */
function valueOf(bytes: Buffer, start: number, end: number): unknown {
  return bytes[start] === LOWER_N ? null : JSON.parse(bytes.toString('latin1', start, end));
}

/** @param start of the text within its quotes. Plain bytes have no escape sequences */
function fitsText(rule: FieldRule, bytes: Buffer, start: number, end: number): boolean {
  const chars = end - start;
  if (chars >= rule.minChars && (chars < rule.minZeroChars || bytes[start + 2] !== ZERO)) return true;
  return rule.fits(bytes.toString('latin1', start, end));
}
