import { keyStateOf, type KeyState } from '../../auth/manage/key-state.ts';
import { noPlans, type PlanSource } from '../../auth/permissions/plans.ts';
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

const sortOrders = ['created', 'name', 'team', 'state', 'use'] as const;
/** The usage of so many keys is read to sort them. */
const MAX_SORTED_BY_USE = 5_000;

const MAX_SEARCH_LENGTH = 200;
const MAX_LIMIT = 1_000;
const MAX_OFFSET = 1_000_000_000;

/** A key with the texts that are compared, which are made once for each key. */
interface KeyRow extends ListedKey {
  /** Calls, if the keys are sorted by them. */
  readonly use: number;
  readonly created: string;
  readonly name: string;
  readonly team: string;
  readonly text: string;
}

/**
 * Selects and sorts keys, in time slices: thousands of keys do not delay calls.
 * @param query search: words, all of which are in the name, id, team or state; team; sort: an order, descending with `-`;
 *   offset, limit: the part of the matching keys, default: all
 * @param callsOf the calls of keys, for the order `use`; undefined: keys cannot be sorted by them
 * @throws AdminError 400 for an invalid parameter
 */
export async function listKeys(
  records: Iterable<KeyRecord>,
  query: ListQuery,
  callsOf?: (ids: readonly string[]) => Promise<readonly number[]>,
  plans: PlanSource = noPlans,
): Promise<KeyList> {
  const { words, team, sort, isDescending, offset, limit } = readQuery(query);
  let rows: KeyRow[] = [];
  let [total, active] = [0, 0];
  for (const record of records) {
    await timeSlicer.next();
    const row = rowOf(record, plans);
    total++;
    if (row.state === 'active') active++;
    const isOfTeam = team === undefined || record.permissions?.['team'] === team;
    if (isOfTeam && words.every((word) => row.text.includes(word))) rows.push(row);
  }
  if (sort === 'use') {
    if (callsOf === undefined) throw invalid('sort', 'another order, or days with it');
    if (rows.length > MAX_SORTED_BY_USE)
      throw invalid(
        'sort',
        `another order: of ${rows.length} keys, more than ${MAX_SORTED_BY_USE}, the use is not read`,
      );
    const calls = await callsOf(rows.map(({ record }) => record.id));
    rows = rows.map((row, index) => ({ ...row, use: calls[index] ?? 0 }));
  }
  const order = (a: KeyRow, b: KeyRow): number => compare(a[sort], b[sort]) || compare(a.created, b.created);
  // Plain comparisons: sorting 10,000 keys by locale takes ten times as long.
  rows.sort((a, b) => (isDescending ? order(b, a) : order(a, b)) || compare(a.record.id, b.record.id));
  return { keys: rows.slice(offset, offset + limit), matching: rows.length, total, active };
}

function rowOf(record: KeyRecord, plans: PlanSource): KeyRow {
  const { id, name, createdAt: created, permissions } = record;
  const state = keyStateOf(record, plans);
  const team = permissions?.['team'] ?? '';
  const row = { record, state, created, use: 0, name: name.toLowerCase(), team: team.toLowerCase() };
  return { ...row, text: `${row.name}\n${id}\n${row.team}\n${state}` };
}

function compare<Value extends string | number>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function readQuery({ search = '', team, sort = 'created', offset = '0', limit }: ListQuery) {
  if (team !== undefined && typeof team !== 'string') throw invalid('team', 'the name of a team');
  if (typeof search !== 'string' || search.length > MAX_SEARCH_LENGTH) {
    throw invalid('search', `text of at most ${MAX_SEARCH_LENGTH} characters`);
  }
  const isDescending = typeof sort === 'string' && sort.startsWith('-');
  const name = sortOrders.find((order) => order === (isDescending ? sort.slice(1) : sort));
  if (name === undefined) throw invalid('sort', `${sortOrders.join(', ')}, or one of them after -`);
  return {
    team,
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
