import { endOfString, endOfValue, isPlain, NotJson, skipSpace, walkArray } from '../../jsonrpc/json-bytes.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { expectedIdentities } from './expected-identity.ts';
import { isPendingBlock } from './check-result.ts';
import { fieldNamed, isAt, viewOf, type Field, type ObjectView } from './object-view.ts';

/**
 * Checks a large result without parsing it. This works if the result needs no changes, except null fields that are
 * added to the end of a single object. Most nodes need only that: their blocks since the merge have no totalDifficulty.
 * @param bytes the result, as JSON
 * @returns the result for the caller, in parts; undefined if it must be parsed, to be completed or classified as failed
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

/** Thrown to end a walk from any depth. Created once, because its stack is not needed. */
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
/** In place of the first byte of an element: all are accepted. */
const ANY = 0;
/** Bytes of `"0x0"`. */
const ZERO_LENGTH = 5;
/** The start of the zero hash. */
const ZERO_HASH_START = Buffer.from('"0x000000000000');

/** A field whose value a parameter determines, as bytes. */
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
  // Uncles lose a field, pending blocks stay unchanged, and shapes with demanded fields are never large.
  if (shape.type === 'Uncle' || shape.demand.length > 0 || isPendingBlock(shape, params)) return undefined;
  const element = details === undefined ? ANY : params[details.param] === true ? OPEN_BRACE : QUOTE;
  const view = viewOf(shape);
  const expected = expectedIdentities(method, params).map(({ field, value }) => ({
    name: Buffer.from(field),
    value: Buffer.from(`"${value}"`),
  }));
  if (kind === 'object') {
    return walkObject(view, bytes, 0, expected, element) === bytes.length
      ? addMissingFields(view, bytes, expected)
      : undefined;
  }
  return walkArray(bytes, 0, (_, at) => wholeObject(view, bytes, at, expected)) === bytes.length ? [bytes] : undefined;
}

/** Adds the fields that the walk did not find, as null. */
function addMissingFields(
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

/** Walks one object of an array, in which no field may be missing. */
function wholeObject(view: ObjectView, bytes: Buffer, start: number, expected: readonly ExpectedBytes[]): number {
  const end = walkObject(view, bytes, start, expected, ANY);
  if (view.found !== view.whole) throw mustBeParsed;
  return end;
}

/**
 * Walks the members of an object, and sets `view.found` to its fields.
 * @param element the first byte of each transaction in a block, by the caller's flag; ANY for other objects
 * @returns the end of the object
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
    const valueStart = skipSpace(bytes, at + 1);
    const field = fieldNamed(view, bytes, nameStart, nameEnd);
    if (field !== undefined) found |= field.bit;
    at = endOfMember(field, bytes, valueStart, element);
    if (expected.length > 0) compareIdentity(expected, bytes, nameStart, nameEnd, valueStart, at);
    at = skipSpace(bytes, at);
    if (bytes[at] === CLOSE_BRACE) break;
    if (bytes[at] !== COMMA) throw new NotJson();
    at = skipSpace(bytes, at + 1);
  }
  view.found = found;
  return at + 1;
}

function compareIdentity(
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
  const { elements, canHaveHashes } = field;
  const isArray = bytes[value] === OPEN_BRACKET;
  if (canHaveHashes && element !== ANY && !isArray) throw mustBeParsed;
  const end =
    elements !== undefined && isArray
      ? walkElements(elements, bytes, value, canHaveHashes ? element : ANY)
      : endOfValue(bytes, value);
  if (!isUnchanged(field, bytes, value, end)) throw mustBeParsed;
  return end;
}

/** Checks the elements that are objects; hashes are only skipped. */
function walkElements(view: ObjectView, bytes: Buffer, start: number, element: number): number {
  return walkArray(bytes, start, (_, at) => {
    if (element !== ANY && bytes[at] !== element) throw mustBeParsed;
    return bytes[at] === OPEN_BRACE ? wholeObject(view, bytes, at, []) : endOfValue(bytes, at);
  });
}

function isUnchanged({ needsCompletion, rule }: Field, bytes: Buffer, start: number, end: number): boolean {
  if (needsCompletion) return false;
  const first = bytes[start] ?? 0;
  // A JSON number must become a hexadecimal quantity.
  if (first !== QUOTE) return rule !== 'block-hash' && rule !== 'status' && (rule !== 'quantity' || !isNumber(first));
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
      return end - start === 5 && (bytes[start + 3] === ZERO || bytes[start + 3] === ONE);
  }
}

function isNumber(first: number): boolean {
  return first === MINUS || (first >= ZERO && first <= NINE);
}
