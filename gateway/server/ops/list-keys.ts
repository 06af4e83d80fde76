import { keyStateOf, type KeyState } from '../../auth/manage/key-state.ts';
import type { KeyRecord } from '../../auth/stores/key-store.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { AdminError } from './read-admin-api.ts';

/** The parameters of a listing, as in the query of the URL. */
export type ListQuery = Readonly<Record<string, unknown>>;

export interface KeyList {
  /** Of the requested part. */
  readonly keys: readonly ListedKey[];
  /** Keys that match the search, of which `keys` is a part. */
  readonly matching: number;
  readonly total: number;
  readonly active: number;
}

export interface ListedKey {
  readonly record: KeyRecord;
  readonly state: KeyState;
}

const sortOrders = ['created', 'name', 'team', 'state'] as const;

const MAX_SEARCH_LENGTH = 200;
const MAX_LIMIT = 1_000;
const MAX_OFFSET = 1_000_000_000;

/** A key with the texts that are compared, which are made once for each key. */
interface KeyRow extends ListedKey {
  readonly created: string;
  readonly name: string;
  readonly team: string;
  readonly text: string;
}

/**
 * Selects and sorts keys, in time slices: thousands of keys do not delay calls.
 * @param query search: words, all of which are in the name, id, team or state; sort: an order, descending with `-`;
 *   offset, limit: the part of the matching keys, default: all
 * @throws AdminError 400 for an invalid parameter
 */
export async function listKeys(records: Iterable<KeyRecord>, query: ListQuery): Promise<KeyList> {
  const { words, sort, isDescending, offset, limit } = readQuery(query);
  const rows: KeyRow[] = [];
  let [total, active] = [0, 0];
  for (const record of records) {
    await timeSlicer.next();
    const row = rowOf(record);
    total++;
    if (row.state === 'active') active++;
    if (words.every((word) => row.text.includes(word))) rows.push(row);
  }
  const order = (a: KeyRow, b: KeyRow): number => compare(a[sort], b[sort]) || compare(a.created, b.created);
  // Plain comparisons: sorting 10,000 keys by locale takes ten times as long.
  rows.sort((a, b) => (isDescending ? order(b, a) : order(a, b)) || compare(a.record.id, b.record.id));
  return { keys: rows.slice(offset, offset + limit), matching: rows.length, total, active };
}

function rowOf(record: KeyRecord): KeyRow {
  const { id, name, createdAt: created, permissions } = record;
  const state = keyStateOf(record);
  const team = permissions?.['team'] ?? '';
  const row = { record, state, created, name: name.toLowerCase(), team: team.toLowerCase() };
  return { ...row, text: `${row.name}\n${id}\n${row.team}\n${state}` };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function readQuery({ search = '', sort = 'created', offset = '0', limit }: ListQuery) {
  if (typeof search !== 'string' || search.length > MAX_SEARCH_LENGTH) {
    throw invalid('search', `text of at most ${MAX_SEARCH_LENGTH} characters`);
  }
  const isDescending = typeof sort === 'string' && sort.startsWith('-');
  const name = sortOrders.find((order) => order === (isDescending ? sort.slice(1) : sort));
  if (name === undefined) throw invalid('sort', `${sortOrders.join(', ')}, or one of them after -`);
  return {
    words: search.toLowerCase().split(/\s+/),
    sort: name,
    isDescending,
    offset: readWhole('offset', offset, 0, MAX_OFFSET),
    limit: limit === undefined ? Infinity : readWhole('limit', limit, 1, MAX_LIMIT),
  };
}

/** @throws AdminError 400 unless the text is a whole number within the bounds */
export function readWhole(field: string, text: unknown, min: number, max: number): number {
  const number = typeof text === 'string' && /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (number < min || number > max) throw invalid(field, `a whole number from ${min} to ${max}`);
  return number;
}

function invalid(field: string, expected: string): AdminError {
  return new AdminError(400, `${field}: expected ${expected}`, { field });
}
