import { endOfString, endOfValue, isPlain, NotJson, skipSpace, walkArray } from '../../jsonrpc/json-bytes.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { expectedIdentities } from './expected-identity.ts';
import { isPendingBlock } from './check-result.ts';
import { fieldNamed, isAt, viewOf, type Field, type ObjectView } from './object-view.ts';

/**
 * Judges a large result without making values of it. That serves where nothing in it changes but for fields that are
 * missing at the end of a lone object, which is what most nodes say: blocks since the merge lack totalDifficulty.
 * @param bytes the result, as JSON
 * @returns the result for the caller, in parts; undefined where it must be parsed, to be mended or refused
 */
export function checkResultBytes(
  method: MethodSpec,
  params: readonly unknown[],
  bytes: Buffer,
): [Buffer, ...Buffer[]] | undefined {
  try {
    return isPlain(bytes) ? checkBytes(method, params, bytes) : undefined;
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
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** Instead of the byte that an element begins with. */
const ANY = 0;
/** Bytes of `"0x0"`. */
const ZERO_LENGTH = 5;
/** How the hash begins that stands for none. */
const NO_HASH = Buffer.from('"0x000000000000');

interface ExpectedBytes {
  readonly name: Buffer;
  readonly value: Buffer;
}

function checkBytes(method: MethodSpec, params: readonly unknown[], bytes: Buffer): [Buffer, ...Buffer[]] | undefined {
  const { resultKinds, details, shape } = method;
  const kind = bytes[0] === OPEN_BRACE ? 'object' : bytes[0] === OPEN_BRACKET ? 'array' : undefined;
  const isAny = resultKinds === undefined;
  if (!isAny && (kind === undefined || !resultKinds.includes(kind))) return undefined;
  if (shape === undefined) return endOfValue(bytes, 0) === bytes.length ? [bytes] : undefined;
  // An uncle loses its transactions, a pending block stays as it is, and what demands fields is never large.
  if (shape.type === 'Uncle' || shape.demand.length > 0 || isPendingBlock(shape, params)) return undefined;
  const element = details === undefined ? ANY : params[details.param] === true ? OPEN_BRACE : QUOTE;
  const view = viewOf(shape);
  const expected = expectedIdentities(method, params).map(({ field, value }) => ({
    name: Buffer.from(field),
    value: Buffer.from(`"${value}"`),
  }));
  if (kind === 'object') {
    return walkObject(view, bytes, 0, expected, element) === bytes.length
      ? completed(view, bytes, expected)
      : undefined;
  }
  return walkArray(bytes, 0, (_, at) => wholeObject(view, bytes, at, expected)) === bytes.length ? [bytes] : undefined;
}

/** Adds to the object what the walk through it did not find. */
function completed(
  { fill, required, found }: ObjectView,
  bytes: Buffer,
  expected: readonly ExpectedBytes[],
): [Buffer, ...Buffer[]] {
  const missing = fill.filter((_, index) => (found & (1 << index)) === 0);
  if ((found & required) !== required || missing.length === fill.length) throw mustBeParsed;
  if (missing.some((name) => expected.some((one) => one.name.toString() === name))) throw mustBeParsed;
  if (missing.length === 0) return [bytes];
  const nulls = missing.map((name) => `,"${name}":null`).join('');
  return [bytes.subarray(0, -1), Buffer.from(`${nulls}}`)];
}

/** One of many, in which nothing may be missing. */
function wholeObject(view: ObjectView, bytes: Buffer, start: number, expected: readonly ExpectedBytes[]): number {
  const end = walkObject(view, bytes, start, expected, ANY);
  if (view.found !== view.whole) throw mustBeParsed;
  return end;
}

/**
 * @param element the byte that each transaction of a block begins with, as the caller's flag asks; ANY elsewhere
 * @returns where it ends; which fields it has stands in `view.found`
 */
function walkObject(
  view: ObjectView,
  bytes: Buffer,
  start: number,
  expected: readonly ExpectedBytes[],
  element: number,
): number {
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
    at = endOfMember(field, bytes, value, element);
    if (expected.length > 0) compare(expected, bytes, nameStart, nameEnd, value, at);
    at = skipSpace(bytes, at);
    if (bytes[at] === CLOSE_BRACE) break;
    if (bytes[at] !== COMMA) throw new NotJson();
    at = skipSpace(bytes, at + 1);
  }
  view.found = found;
  return at + 1;
}

function compare(
  expected: readonly ExpectedBytes[],
  bytes: Buffer,
  nameStart: number,
  nameEnd: number,
  value: number,
  end: number,
): void {
  for (const one of expected) {
    if (isAt(one.name, bytes, nameStart, nameEnd) && !isAt(one.value, bytes, value, end)) throw mustBeParsed;
  }
}

function endOfMember(field: Field | undefined, bytes: Buffer, value: number, element: number): number {
  if (field === undefined) return endOfValue(bytes, value);
  const { elements, mayHoldHashes } = field;
  const isArray = bytes[value] === OPEN_BRACKET;
  if (mayHoldHashes && element !== ANY && !isArray) throw mustBeParsed;
  const end =
    elements !== undefined && isArray
      ? walkElements(elements, bytes, value, mayHoldHashes ? element : ANY)
      : endOfValue(bytes, value);
  if (!isUnchanged(field, bytes, value, end)) throw mustBeParsed;
  return end;
}

/** Objects among them are looked into; hashes are not. */
function walkElements(view: ObjectView, bytes: Buffer, start: number, element: number): number {
  return walkArray(bytes, start, (_, at) => {
    if (element !== ANY && bytes[at] !== element) throw mustBeParsed;
    return bytes[at] === OPEN_BRACE ? wholeObject(view, bytes, at, []) : endOfValue(bytes, at);
  });
}

function isUnchanged({ needsCompletion, rule }: Field, bytes: Buffer, start: number, end: number): boolean {
  if (needsCompletion) return false;
  const first = bytes[start] ?? 0;
  // A number is made a quantity.
  if (first !== QUOTE) return rule !== 'block-hash' && rule !== 'status' && (rule !== 'quantity' || !isNumber(first));
  switch (rule) {
    case 'any':
      return true;
    case 'quantity':
      // Not "0x", nor a zero behind 0x but in "0x0".
      return end - start === ZERO_LENGTH || (bytes[start + 3] !== ZERO && end - start !== ZERO_LENGTH - 1);
    case 'address':
      return end - start > ZERO_LENGTH;
    case 'block-hash':
      return !isAt(NO_HASH, bytes, start, start + NO_HASH.length);
    case 'status':
      return end - start === 5 && (bytes[start + 3] === ZERO || bytes[start + 3] === ONE);
  }
}

function isNumber(first: number): boolean {
  return first === MINUS || (first >= ZERO && first <= NINE);
}
