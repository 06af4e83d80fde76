import { keyStateOf, type KeyState } from '../../auth/manage/key-state.ts';
import type { PlanSource } from '../../auth/permissions/plans.ts';
import type { KeyRecord } from '../../auth/stores/key-store.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { invalid } from './read-admin-api.ts';

/** The parameters of a listing, as the document of the admin API has them. */
export interface ListQuery {
  /** Words, all of which are in the name, id, team or state. */
  readonly search?: string;
  readonly team?: string;
  /** An order, descending with `-`. */
  readonly sort: string;
  /** The part of the matching keys; without a limit, all after the offset. */
  readonly offset: number;
  readonly limit?: number;
}

export interface KeyList {
  /** Keys of the requested part. */
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

/** The usage of so many keys is read to sort them. */
const MAX_SORTED_BY_USE = 5_000;

type SortOrder = 'created' | 'name' | 'team' | 'state' | 'use';

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
 * @param callsOf the calls of keys, for the order `use`; undefined: keys cannot be sorted by them
 * @throws AdminError 400 for an order that is not possible
 */
export async function listKeys(
  records: Iterable<KeyRecord>,
  { search = '', team, sort: order, offset, limit = Infinity }: ListQuery,
  plans: PlanSource,
  callsOf?: (ids: readonly string[]) => Promise<readonly number[]>,
): Promise<KeyList> {
  const words = search.toLowerCase().split(/\s+/);
  const isDescending = order.startsWith('-');
  const sort = order.replace('-', '') as SortOrder;
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
  const compareRows = (a: KeyRow, b: KeyRow): number => compare(a[sort], b[sort]) || compare(a.created, b.created);
  // Plain comparisons: sorting 10,000 keys by locale takes ten times as long.
  rows.sort((a, b) => (isDescending ? compareRows(b, a) : compareRows(a, b)) || compare(a.record.id, b.record.id));
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
