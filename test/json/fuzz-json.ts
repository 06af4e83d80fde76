import { isDeepStrictEqual } from 'node:util';
import { JsonReader, NotJson } from '../../gateway/json/json-reader.ts';
import { exceeds } from '../../gateway/json/nesting.ts';
import { withoutSimd, withSimd } from '../../gateway/json/value-end.generated.ts';
import { openScan, ValueEnd } from '../../gateway/json/value-end.ts';
import type { Random } from '../fuzz/random.ts';

const SPACES = ['', '', '', '', ' ', '\n', '\t', '\r\n', '  '];
const SCALARS = [
  ...['null', 'true', 'false', '0', '-0', '7', '-12', '1.5', '0.0', '1e5', '1E+5', '2.50e-3', '9007199254740993'],
  ...[
    '1e400',
    '""',
    '"a"',
    '"\\""',
    '"\\\\"',
    '"\\\\\\""',
    '"\\/\\b\\f\\n\\r\\t"',
    '"\\u00e9\\uD83D\\ude00"',
    '"\\ud800"',
  ],
  ...['"é€𝄞"', '"]},{["', '"0x0"', `"0x${'ab'.repeat(32)}"`, `"${'x'.repeat(300)}"`, '"\u007f\u2028"'],
];
const NAMES = ['"a"', '"b"', '"a"', '""', '"__proto__"', '"id"', '"\\u0061"', '"é"', '"blockHash"', '"0"'];
/** Bytes that are put into JSON to break it. */
const BYTES = [...Buffer.from('"\\{}[],:0-+.eEu1antrfl \n/x'), 0, 9, 11, 31, 127, 0x80, 0xbf, 0xc3, 0xef, 0xff];

/** JSON, or almost. A third of the inputs is plain and long, so that four bytes are read at once. */
export function randomJson(random: Random): Buffer {
  const isLong = random.chance(0.3);
  let bytes: Buffer = Buffer.from(spaced(isLong ? longArray(random) : value(random, 0), random));
  if (random.chance(0.6)) for (let count = 1 + random.below(2); count > 0; count--) bytes = broken(bytes, random);
  // At any offset in memory.
  return Buffer.concat([Buffer.alloc(random.below(4)), bytes]).subarray(-bytes.length || undefined);
}

/**
 * Compares with JSON.parse: the verdict, the value, the positions of values and of the first error, and the levels that are
 * counted before parsing.
 * @returns what differs, or undefined
 */
export function differenceIn(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  const expected = parse(text);
  const skipped = attempt(bytes, (reader) => {
    reader.skipValue();
    return undefined;
  });
  let depth = 0;
  const read = attempt(bytes, (reader) => readValue(reader, (level) => (depth = Math.max(depth, level))));
  if (skipped.errorAt !== read.errorAt) return `an error at ${skipped.errorAt} if skipped, at ${read.errorAt} if read`;
  if (read.errorAt === undefined) {
    if (expected.error !== undefined) return `is JSON, but ${expected.error}`;
    return isDeepStrictEqual(read.value, expected.value) ? nestingDifference(bytes, depth) : 'has another value';
  }
  if (expected.error === undefined) return `is JSON, but has an error at ${read.errorAt}`;
  return misplaced(bytes, read.errorAt);
}

/** Both forms of the WebAssembly that finds the end of a value. */
export const scans = { withSimd: openScan(withSimd), withoutSimd: openScan(withoutSimd) };

/** Compares the end of the first value, whose bytes arrive in random chunks. @returns what differs, or undefined */
export function endDifferenceIn(bytes: Buffer, random: Random): string | undefined {
  const expected = firstEnd(bytes.toString('latin1'));
  const cuts = Array.from({ length: random.below(4) }, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
  for (const [name, scan] of Object.entries(scans)) {
    const valueEnd = new ValueEnd(0, scan);
    let end = -1;
    let start = 0;
    for (const cut of [...cuts, bytes.length]) {
      const found = end === -1 ? valueEnd.find(bytes.subarray(start, cut)) : -1;
      if (found !== -1) end = start + found;
      start = cut;
    }
    if (end !== expected)
      return `${name} finds the end at ${end} in place of ${expected}, in chunks up to ${cuts.join()}`;
  }
  return undefined;
}

/** The position after the first string, object or array. -1: there is none, or it has no end. */
function firstEnd(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^])*"|["[\]{}]/g)) {
    if (token === '[' || token === '{') depth++;
    else if (token === ']' || token === '}') depth--;
    else if (token === '"') return -1;
    if (depth <= 0) return index + token.length;
  }
  return -1;
}

/** Whether the nesting that is counted before parsing is that of the tokens. */
function nestingDifference(bytes: Buffer, depth: number): string | undefined {
  if (exceeds(bytes, { depth, values: Infinity })) return `has more levels than ${depth}`;
  return depth > 0 && !exceeds(bytes, { depth: depth - 1, values: Infinity })
    ? `has fewer levels than ${depth}`
    : undefined;
}

interface Outcome {
  readonly value?: unknown;
  readonly errorAt?: number;
}

function attempt(bytes: Buffer, read: (reader: JsonReader) => unknown): Outcome {
  const reader = new JsonReader(bytes, { maxDepth: Infinity });
  try {
    reader.skipSpace();
    const value = read(reader);
    reader.skipSpace();
    if (reader.at < bytes.length) return { errorAt: reader.at };
    return { value };
  } catch (error) {
    if (error instanceof NotJson) return { errorAt: error.at };
    // A token at these positions is not JSON.
    if (error instanceof SyntaxError) return { errorAt: -1 };
    throw error;
  }
}

/** The value that starts here, from the positions of its tokens. */
function readValue(reader: JsonReader, onLevel: (level: number) => void, level = 0): unknown {
  const { bytes } = reader;
  const start = reader.at;
  const inner = level + 1;
  if (reader.isAtArray || reader.isAtObject) onLevel(inner);
  if (reader.isAtArray) {
    const array: unknown[] = [];
    reader.enterArray();
    while (reader.nextElement()) array.push(readValue(reader, onLevel, inner));
    return array;
  }
  if (reader.isAtObject) {
    const object = {};
    reader.enterObject();
    while (reader.nextMember()) {
      const name = JSON.parse(bytes.toString('utf8', reader.nameStart - 1, reader.nameEnd + 1)) as string;
      const value = readValue(reader, onLevel, inner);
      // As JSON.parse: `__proto__` is a member, and the last duplicate wins.
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return object;
  }
  reader.skipValue();
  return JSON.parse(bytes.toString('utf8', start, reader.at));
}

/** An error is at the first byte that no JSON has there: the bytes before can be completed, those up to it cannot. */
function misplaced(bytes: Buffer, at: number): string | undefined {
  if (at > bytes.length || !isStart(bytes.subarray(0, at))) return `the error is before ${at}`;
  return at < bytes.length && isStart(bytes.subarray(0, at + 1)) ? `the error is after ${at}` : undefined;
}

/** Whether JSON may start so: JSON.parse finds no error but the end. */
function isStart(bytes: Buffer): boolean {
  const text = bytes.toString('utf8');
  const { error } = parse(text);
  if (error === undefined || /end of JSON input|Unterminated string/.test(error)) return true;
  return error.includes(`at position ${text.length} `) || error.endsWith(`at position ${text.length}`);
}

function parse(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function value(random: Random, depth: number): string {
  if (depth > 5 || random.chance(0.4)) return random.pick(SCALARS);
  const items = Array.from({ length: random.below(4) }, () =>
    spaced(random.chance(0.5) || depth % 2 === 0 ? value(random, depth + 1) : random.pick(SCALARS), random),
  );
  if (random.chance(0.5)) return `[${items.join(',') || random.pick(SPACES)}]`;
  const members = items.map((item) => spaced(random.pick(NAMES), random) + ':' + item);
  return `{${members.join(',') || random.pick(SPACES)}}`;
}

function longArray(random: Random): string {
  return `["${'0'.repeat(1_000 + random.below(4))}",${spaced(value(random, 0), random)},{"to":null,"input":"${'1'.repeat(random.below(600))}"}]`;
}

function spaced(text: string, random: Random): string {
  return random.pick(SPACES) + text + random.pick(SPACES);
}

function broken(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const end = random.chance(0.2) ? bytes.length : at + random.below(3);
  const added = random.chance(0.3) ? [] : [random.pick(BYTES)];
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(added), bytes.subarray(end)]);
}
