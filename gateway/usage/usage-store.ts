import { clock } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { StoreError, StoreUnreachable } from '../store/store-error.ts';
import type { Store, Sums } from '../store/store.ts';

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

/** The usage of one key on one day, in UTC. */
export interface UsageDay {
  /** Id of the key. */
  readonly key: string;
  /** `2026-01-31` */
  readonly day: string;
  /** Amounts, of which several may have one place. */
  readonly amounts: readonly PlacedAmounts[];
}

/** Usage of one key in about a second; with thousands of keys in up to ten seconds. */
export interface UsageBatch extends UsageDay {
  /** Rises with each batch of this process, so that the store recognises a repeated batch. */
  readonly number: number;
}

/** Amounts with reasons. */
export interface RowAmounts extends Amounts {
  /** Errors by reason; undefined: none, or they were counted by a version that stored no reasons. */
  reasons?: Record<string, number>;
}

export interface UsageRow extends RowAmounts {
  readonly day: string;
  readonly network: string;
  readonly method: string;
}

/** Folder of the usage: sums of a key on a day, `<key id>:<YYYY-MM-DD>`, by `<place> calls`, and the same with the other amounts. */
const FOLDER = 'gatehouse:usage';
const usageName = /^(\S+):(\d{4}-\d\d-\d\d)$/;
const usageField = new RegExp(`^(\\S+ \\S+) (${amountNames.join('|')})$`);
const RETENTION_MS = USAGE_RETENTION_DAYS * 86_400_000;
/** Concurrent batches and reads: each must finish within the command timeout of Redis. */
const MAX_CONCURRENT = 500;

/** Stores usage by key and day, summed over all gateways. */
export class UsageStore {
  readonly #store: Store;
  readonly #log: Log;
  #hasFailed = false;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Whether `add` can succeed now. */
  get isUp(): boolean {
    return this.#store.isUp;
  }

  /**
   * Adds each batch once, even if it is passed several times. Never rejects.
   * @returns unconfirmed batches, which must be passed again
   */
  async add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]> {
    const failed: UsageBatch[] = [];
    for (let from = 0; from < batches.length; from += MAX_CONCURRENT) {
      const some = batches.slice(from, from + MAX_CONCURRENT);
      const writes: Promise<boolean>[] = [];
      for (const batch of some) {
        await timeSlicer.next();
        writes.push(this.#add(batch));
      }
      const written = await Promise.all(writes);
      failed.push(...some.filter((_, index) => written[index] !== true));
    }
    this.#hasFailed = failed.length > 0;
    return failed;
  }

  /** Rows by day, network, method and reason; `readUsage` adds up those of a method. @throws StoreError */
  async read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    const sums = await this.#store.sums(
      FOLDER,
      days.map((day) => nameOf(key, day)),
    );
    const rows = days.flatMap((day, index) =>
      amountsOf(sums[index]).map(({ place, ...amounts }) => rowOf(day, place, amounts)),
    );
    return rows.sort(byDayAndMethod);
  }

  /** The usage of each key, summed over the days. Long work is in time slices. @throws StoreError */
  async sum(keys: readonly string[], days: readonly string[]): Promise<UsageSum[]> {
    const found: UsageSum[] = [];
    for (const key of keys) {
      await timeSlicer.next();
      const sum: UsageSum = newAmounts();
      for (const row of await this.read(key, days)) {
        addAmounts(sum, row);
        if (row.calls > 0) sum.lastDay = row.day;
      }
      found.push(sum);
    }
    return found;
  }

  /** The usage of all keys. @param days undefined: on all days, for a backup  @throws StoreError */
  async *entries(days?: readonly string[]): AsyncIterable<UsageDay> {
    let names: string[] = [];
    // Redis may return a name twice.
    const found = new Set<string>();
    for await (const name of this.#store.names(FOLDER)) {
      if (found.has(name) || days?.includes(name.slice(name.lastIndexOf(':') + 1)) === false) continue;
      found.add(name);
      if (names.push(name) < MAX_CONCURRENT) continue;
      yield* this.#daysOf(names);
      names = [];
    }
    yield* this.#daysOf(names);
  }

  async *#daysOf(names: readonly string[]): AsyncIterable<UsageDay> {
    const sums = await this.#store.sums(FOLDER, names);
    for (const [index, name] of names.entries()) {
      const [, key, day] = usageName.exec(name) ?? [];
      if (key !== undefined && day !== undefined) yield { key, day, amounts: amountsOf(sums[index]) };
    }
  }

  async #add({ key, day, number, amounts }: UsageBatch): Promise<boolean> {
    try {
      await this.#store.add(FOLDER, nameOf(key, day), sumsOf(amounts), { ttlMs: RETENTION_MS, number });
      return true;
    } catch (error) {
      // An unreachable Redis is logged by its connection.
      if (!this.#hasFailed && !(error instanceof StoreUnreachable)) {
        const reason = error instanceof StoreError ? error.message : errorCode(error);
        this.#log.warn({ error: reason }, 'usage cannot be written: it stays in memory');
      }
      this.#hasFailed = true;
      return false;
    }
  }
}

function nameOf(key: string, day: string): string {
  return `${key}:${day}`;
}

function sumsOf(amounts: readonly PlacedAmounts[]): Sums {
  const sums: Record<string, number> = {};
  for (const each of amounts)
    for (const name of amountNames) {
      const field = `${each.place} ${name}`;
      if (each[name] !== 0) sums[field] = (sums[field] ?? 0) + each[name];
    }
  return sums;
}

/** Leaves out what an operator may have written by hand and is no usage. */
function amountsOf(sums: Sums = {}): PlacedAmounts[] {
  const places = new Map<string, Amounts>();
  for (const [field, amount] of Object.entries(sums)) {
    const [, place, name] = usageField.exec(field) ?? [];
    if (place === undefined || amount < 0) continue;
    const amounts = places.get(place) ?? newAmounts();
    amounts[name as keyof Amounts] = amount;
    places.set(place, amounts);
  }
  return [...places].map(([place, amounts]) => ({ place, ...amounts }));
}

/**
 * Puts the usage of version 0.1, the text of a file `usage/<day>/<digit>.txt`, into a store in a file, where sums are records of
 * JSON. What is there stays as it is. Lines that a power cut left incomplete are left out.
 */
export async function importUsage(store: Store, day: string, text: string): Promise<void> {
  const amounts = new Map<string, PlacedAmounts[]>();
  for (const [, key = '', place = '', ...numbers] of text.matchAll(/^(\S+) (\S+ \S+) (\d+) (\d+) (\d+) (\d+)\n/gm)) {
    await timeSlicer.next();
    const [calls = 0, units = 0, errors = 0, bytes = 0] = numbers.map(Number);
    const own = amounts.get(key) ?? [];
    own.push({ place, calls, units, errors, bytes });
    amounts.set(key, own);
  }
  const ttlMs = Date.parse(day) + RETENTION_MS - clock.unixMs();
  if (ttlMs <= 0) return;
  const puts = [...amounts].map(([key, own]) =>
    store.put(FOLDER, nameOf(key, day), JSON.stringify(sumsOf(own)), { expected: null, ttlMs }),
  );
  await Promise.all(puts);
}

export function newAmounts(): Amounts {
  return { calls: 0, units: 0, errors: 0, bytes: 0 };
}

function addAmounts(sum: Amounts, { calls, units, errors, bytes }: Readonly<Amounts>): void {
  sum.calls += calls;
  sum.units += units;
  sum.errors += errors;
  sum.bytes += bytes;
}

/** Adds the amounts and the reasons of a row. */
export function addRow(sum: RowAmounts, row: Readonly<RowAmounts>): void {
  addAmounts(sum, row);
  for (const [reason, errors] of Object.entries(row.reasons ?? {})) {
    sum.reasons ??= {};
    sum.reasons[reason] = (sum.reasons[reason] ?? 0) + errors;
  }
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
