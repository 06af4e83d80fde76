import { endOfString, endOfValue, NotJson, skipSpace, walkArray } from '../jsonrpc/json-bytes.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { askedIn } from './asked-for.ts';
import { fieldNamed, isAt, viewOf, type Field, type ObjectView } from './object-view.ts';

/**
 * Judges a large result without making values of it. That serves where nothing in it changes but for fields that are
 * missing at the end of a lone object, which is what most nodes say: blocks since the merge lack totalDifficulty.
 * @param bytes the result, as JSON
 * @returns the result for the caller, in parts; undefined where it must be parsed, to be mended or refused
 */
export function judgeBytes(
  method: MethodSpec,
  params: readonly unknown[],
  bytes: Buffer,
): [Buffer, ...Buffer[]] | undefined {
  try {
    return passed(method, params, bytes);
  } catch (error) {
    if (error === mustBeParsed || error instanceof NotJson) return undefined;
    throw error;
  }
}

/** Thrown, for it ends a walk from any depth; made once, for its stack tells nothing. */
const mustBeParsed = new Error('must be parsed');

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const ONE = 49;
const NINE = 57;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** How the hash begins that stands for none. */
const NO_HASH = Buffer.from('"0x000000000000');

interface Asked {
  readonly name: Buffer;
  readonly value: Buffer;
}

function passed(method: MethodSpec, params: readonly unknown[], bytes: Buffer): [Buffer, ...Buffer[]] | undefined {
  const { resultKinds, shape } = method;
  const kind = bytes[0] === OPEN_BRACE ? 'object' : bytes[0] === OPEN_BRACKET ? 'array' : undefined;
  const isAny = resultKinds === undefined;
  if (!isAny && (kind === undefined || !resultKinds.includes(kind))) return undefined;
  if (shape === undefined) return endOfValue(bytes, 0) === bytes.length ? [bytes] : undefined;
  // Of a pending block something is taken away, of an uncle too.
  if (params[0] === 'pending' || shape.type === 'Uncle') return undefined;
  const view = viewOf(shape);
  const asked = askedIn(method, params).map(({ field, value }) => ({
    name: Buffer.from(field),
    value: Buffer.from(`"${value}"`),
  }));
  if (kind === 'object') {
    return walkObject(view, bytes, 0, asked) === bytes.length ? completed(view, bytes, asked) : undefined;
  }
  return walkArray(bytes, 0, (_, at) => wholeObject(view, bytes, at, asked)) === bytes.length ? [bytes] : undefined;
}

/** Adds to the object what the walk through it did not find. */
function completed(
  { fill, required, found }: ObjectView,
  bytes: Buffer,
  asked: readonly Asked[],
): [Buffer, ...Buffer[]] {
  const missing = fill.filter((_, index) => (found & (1 << index)) === 0);
  if ((found & required) !== required || missing.length === fill.length) throw mustBeParsed;
  if (missing.some((name) => asked.some((one) => one.name.toString() === name))) throw mustBeParsed;
  if (missing.length === 0) return [bytes];
  const nulls = missing.map((name) => `,"${name}":null`).join('');
  return [bytes.subarray(0, -1), Buffer.from(`${nulls}}`)];
}

/** One of many, in which nothing may be missing. */
function wholeObject(view: ObjectView, bytes: Buffer, start: number, asked: readonly Asked[]): number {
  const end = walkObject(view, bytes, start, asked);
  if (view.found !== view.whole) throw mustBeParsed;
  return end;
}

/** @returns where it ends; which fields it has stands in `view.found` */
function walkObject(view: ObjectView, bytes: Buffer, start: number, asked: readonly Asked[]): number {
  if (bytes[start] !== OPEN_BRACE) throw mustBeParsed;
  let found = 0;
  let at = skipSpace(bytes, start + 1);
  for (;;) {
    const nameStart = at + 1;
    at = endOfString(bytes, at);
    const nameEnd = at - 1;
    at = skipSpace(bytes, at);
    if (bytes[at] !== COLON) throw new NotJson();
    const value = skipSpace(bytes, at + 1);
    const field = fieldNamed(view, bytes, nameStart, nameEnd);
    if (field !== undefined) found |= field.bit;
    else if (hasEscape(bytes, nameStart, nameEnd)) throw mustBeParsed;
    at = endOfMember(field, bytes, value);
    if (asked.length > 0) compare(asked, bytes, nameStart, nameEnd, value, at);
    at = skipSpace(bytes, at);
    if (bytes[at] === CLOSE_BRACE) break;
    if (bytes[at] !== COMMA) throw new NotJson();
    at = skipSpace(bytes, at + 1);
  }
  view.found = found;
  return at + 1;
}

function compare(
  asked: readonly Asked[],
  bytes: Buffer,
  nameStart: number,
  nameEnd: number,
  value: number,
  end: number,
): void {
  for (const one of asked) {
    if (isAt(one.name, bytes, nameStart, nameEnd) && !isAt(one.value, bytes, value, end)) throw mustBeParsed;
  }
}

function endOfMember(field: Field | undefined, bytes: Buffer, value: number): number {
  if (field === undefined) return endOfValue(bytes, value);
  const { elements } = field;
  const end =
    elements !== undefined && bytes[value] === OPEN_BRACKET
      ? walkElements(elements, bytes, value)
      : endOfValue(bytes, value);
  if (!staysAsItIs(field, bytes, value, end)) throw mustBeParsed;
  return end;
}

/** Objects among them are looked into; hashes are not. */
function walkElements(view: ObjectView, bytes: Buffer, start: number): number {
  return walkArray(bytes, start, (_, at) =>
    bytes[at] === OPEN_BRACE ? wholeObject(view, bytes, at, []) : endOfValue(bytes, at),
  );
}

/** Then it may be any name. */
function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function staysAsItIs({ isMended, textMin, rule }: Field, bytes: Buffer, start: number, end: number): boolean {
  if (isMended) return false;
  const first = bytes[start] ?? 0;
  // A number is made a quantity.
  if (first !== QUOTE) return rule === 'any' && first !== MINUS && (first < ZERO || first > NINE);
  if (rule === 'block-hash') return !isAt(NO_HASH, bytes, start, start + NO_HASH.length);
  if (rule === 'status') return end - start === 5 && (bytes[start + 3] === ZERO || bytes[start + 3] === ONE);
  return end - start >= textMin;
}
