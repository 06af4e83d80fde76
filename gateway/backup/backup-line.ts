import { isObject, jsonObjectIn, type JsonObject } from '../collections/is-object.ts';
import { isDigest } from '../auth/formats/key.ts';
import { fieldsOfKey, keyFromFields, type StoredKey } from '../auth/stores/key-store.ts';
import { amountNames, type PlacedAmounts, type UsageDay } from '../usage/usage-store.ts';

/** First line of a backup. */
const FORMAT = 'gatehouse backup';
const VERSION = 1;

/** A line of a backup, which is a file of JSON lines. `end` is the last one: without it the file is incomplete. */
export type BackupLine =
  | { readonly kind: 'start'; readonly at: string }
  | { readonly kind: 'key'; readonly digest: string; readonly key: StoredKey }
  | ({ readonly kind: 'usage' } & UsageDay)
  | { readonly kind: 'end'; readonly keys: number; readonly days: number };

export function writeLine(line: BackupLine): string {
  return `${JSON.stringify(membersOf(line))}\n`;
}

/** @returns the line, or what was expected in its place */
export function readLine(text: string): BackupLine | string {
  const members = jsonObjectIn(text);
  if (members === undefined) return 'expected a JSON object';
  if ('format' in members) return readStart(members);
  if ('digest' in members) return readKey(members);
  if ('usage' in members) return readUsage(members);
  return 'end' in members ? readEnd(members) : 'expected one of format, digest, usage and end';
}

function membersOf(line: BackupLine): object {
  if (line.kind === 'start') return { format: FORMAT, version: VERSION, at: line.at };
  if (line.kind === 'key') return { digest: line.digest, key: fieldsOfKey(line.key) };
  if (line.kind === 'end') return { end: true, keys: line.keys, days: line.days };
  const rows = line.amounts.map(({ place, ...amounts }) => [place, ...amountNames.map((name) => amounts[name])]);
  return { usage: line.key, day: line.day, rows };
}

function readStart({ format, version, at }: JsonObject): BackupLine | string {
  if (format !== FORMAT || version !== VERSION) return `expected "${FORMAT}" of version ${VERSION}`;
  return { kind: 'start', at: String(at) };
}

function readKey({ digest, key }: JsonObject): BackupLine | string {
  if (typeof digest !== 'string' || !isDigest(digest)) return 'digest: expected 64 hexadecimal digits';
  if (!isObject(key) || typeof key['name'] !== 'string') return 'key: expected an object with a name';
  return { kind: 'key', digest, key: keyFromFields(key) };
}

function readUsage({ usage: key, day, rows }: JsonObject): BackupLine | string {
  // Ids of keys, `public`, `operator`: whatever a store accepts.
  if (typeof key !== 'string' || !/^\S+$/.test(key)) return 'usage: expected an id, without spaces';
  if (typeof day !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(day)) return 'day: expected a day as 2026-01-31';
  const amounts = Array.isArray(rows) ? rows.map(readRow) : [undefined];
  if (amounts.includes(undefined)) return 'rows: expected lists of "<network> <method>" and four whole numbers';
  return { kind: 'usage', key, day, amounts: amounts as PlacedAmounts[] };
}

function readRow(row: unknown): PlacedAmounts | undefined {
  const [place, ...numbers] = Array.isArray(row) ? (row as unknown[]) : [];
  const isValid =
    typeof place === 'string' &&
    /^\S+ \S+$/.test(place) &&
    numbers.length === amountNames.length &&
    numbers.every((each) => Number.isSafeInteger(each) && Number(each) >= 0);
  if (!isValid) return undefined;
  const [calls = 0, units = 0, errors = 0, bytes = 0] = numbers as number[];
  return { place, calls, units, errors, bytes };
}

function readEnd({ keys, days }: JsonObject): BackupLine | string {
  if (typeof keys !== 'number' || typeof days !== 'number') return 'end: expected the numbers of keys and days';
  return { kind: 'end', keys, days };
}
