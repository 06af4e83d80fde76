import { clock } from '../clock/clock.ts';

/** The usage of a day is removed after this number of days. */
export const USAGE_RETENTION_DAYS = 90;

/** Usage: calls, their request units, error responses, bytes of responses. */
export interface Amounts {
  calls: number;
  units: number;
  errors: number;
  bytes: number;
}

export const amountNames = ['calls', 'units', 'errors', 'bytes'] as const satisfies (keyof Amounts)[];

/** The usage of a key, summed over days. */
export interface UsageSum extends Amounts {
  /** The last of these days with calls; undefined: none. */
  lastDay?: string;
}

/** Usage with its place: `<network> <method>`, or `<network> <method>:<reason>` for calls with an error of this reason. */
export interface PlacedAmounts extends Readonly<Amounts> {
  readonly place: string;
}

/** Usage of one key in about a second; with thousands of keys in up to ten seconds. */
export interface UsageBatch {
  /** Id of the key. */
  readonly key: string;
  /** `2026-01-31`, in UTC. */
  readonly day: string;
  /** Rises with each batch of this process, so that the store recognises a repeated batch. */
  readonly number: number;
  /** May have several entries for one place. */
  readonly amounts: readonly PlacedAmounts[];
}

export interface UsageRow extends Amounts {
  readonly day: string;
  readonly network: string;
  readonly method: string;
  /** Errors by reason; undefined: none, or they were counted by a version that stored no reasons. */
  reasons?: Readonly<Record<string, number>>;
}

/** The usage of one key on one day, in UTC. */
export interface UsageDay {
  readonly key: string;
  readonly day: string;
  readonly amounts: readonly PlacedAmounts[];
}

/** Stores usage by key and day. */
export interface UsageStore {
  /** Whether `add` can succeed now. */
  readonly isUp: boolean;
  /**
   * Adds each batch once, even if it is passed several times. Never rejects.
   * @returns unconfirmed batches, which must be passed again
   */
  add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]>;
  /** Rows by day, network, method and reason; `readUsage` adds up those of a method. @throws StoreUnreachable, or an error of the file system */
  read(key: string, days: readonly string[]): Promise<UsageRow[]>;
  /** The usage of each key, summed over the days. Long work is in time slices. @throws as `read` does */
  sum(keys: readonly string[], days: readonly string[]): Promise<UsageSum[]>;
  /** Waits until the store is available, at most `timeoutMs`. */
  waitUntilReady(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** A store whose usage can be backed up. */
export interface ListedUsageStore extends UsageStore {
  /** The usage of all keys. @throws as `read` does */
  entries(): AsyncIterable<UsageDay>;
}

export function newAmounts(): Amounts {
  return { calls: 0, units: 0, errors: 0, bytes: 0 };
}

export function addOnDay(sum: UsageSum, day: string, amounts: Readonly<Amounts>): void {
  addAmounts(sum, amounts);
  if (amounts.calls > 0 && day > (sum.lastDay ?? '')) sum.lastDay = day;
}

export function addAmounts(sum: Amounts, { calls, units, errors, bytes }: Readonly<Amounts>): void {
  sum.calls += calls;
  sum.units += units;
  sum.errors += errors;
  sum.bytes += bytes;
}

/** `<place> <calls> <units> <errors> <bytes>`, the form that stores write. */
export function textOf({ place, calls, units, errors, bytes }: PlacedAmounts): string {
  return `${place} ${calls} ${units} ${errors} ${bytes}`;
}

/** The place of calls with an error of this reason, which stores add up apart. Names of methods have no colon. */
export function withReason(place: string, reason: string | undefined): string {
  return reason === undefined ? place : `${place}:${reason}`;
}

/** Makes a row from a day and a place. */
export function rowOf(day: string, place: string, amounts: Readonly<Amounts>): UsageRow {
  const [network = '', called = ''] = place.split(' ');
  const [method = '', reason] = called.split(':');
  return { day, network, method, ...amounts, ...(reason !== undefined && { reasons: { [reason]: amounts.errors } }) };
}

export function byDayAndMethod(a: UsageRow, b: UsageRow): number {
  return a.day.localeCompare(b.day) || a.network.localeCompare(b.network) || a.method.localeCompare(b.method);
}

/** The last `count` days in UTC, including today, oldest first. */
export function lastDays(count: number, now = clock.unixMs()): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(now - (count - 1 - index) * 86_400_000));
}

export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
