import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { noLimits, rateOf } from '../../gateway/auth/permissions/key-limits.ts';
import { AddressEntry, AddressTable } from '../../gateway/limits/address-table.ts';
import { setMissing, type UtcDate } from '../../gateway/limits/limit-state.ts';

const today: UtcDate = {
  ...{ day: '2026-01-01', month: '2026-01', nextDay: '2026-01-02', nextMonth: '2026-02' },
  ...{ dayEndsInS: 3_600, monthEndsInS: 2_682_000 },
};
const tomorrow: UtcDate = { ...today, day: '2026-01-02', nextDay: '2026-01-03', dayEndsInS: 86_400 };

const limits = { ...noLimits('others'), rate: rateOf(1), daily: 200 };

/** Uses units of an account: two are 1 % of its day. @returns false: it has no place */
function use(table: AddressTable, account: string, units: number, now: number, date = today): boolean {
  const entry = new AddressEntry();
  const place = table.placeOf(account);
  if (!table.read(place, entry, now, date)) return false;
  setMissing(entry.state, '', units, now);
  entry.state.dayUsed += units;
  table.write(place, entry, limits, now, date);
  return true;
}

function usedBy(table: AddressTable, account: string, now: number, date = today): { missing: number; day: number } {
  const entry = new AddressEntry();
  expect(table.read(table.placeOf(account), entry, now, date)).toBe(true);
  return { missing: entry.state.buckets.get('')?.missing ?? 0, day: entry.state.dayUsed };
}

it('the table keeps what each account has used, half a million of them in 120 MB', () => {
  const accounts = 100_000;
  const table = new AddressTable(accounts);
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < accounts; index++) use(table, `address ${index}`, 1 + (index % 7), 0);
  // Segments are not filled equally.
  expect(table.size / accounts).toBeGreaterThan(0.95);
  expect((process.memoryUsage().arrayBuffers - before) / accounts).toBeLessThan(240);
  for (let index = 0; index < accounts / 2; index += 97) {
    expect(usedBy(table, `address ${index}`, 0)).toEqual({ missing: 1 + (index % 7), day: 1 + (index % 7) });
  }
});

it('a full table stays as large when further accounts have no place', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytes = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  // A power of two in each segment.
  const accounts = 2 ** 15;
  const before = bytes();
  const table = new AddressTable(accounts);
  for (let index = 0; index < 1.5 * accounts; index++) use(table, `address ${index}`, 3, index / 10);
  // Memory is freed some time after the collection.
  await expect.poll(() => (bytes() - before) / accounts).toBeLessThan(130);
  expect(table.size).toBeGreaterThan(0.99 * accounts);
});

it('an account that was charged stays when the table is full, and new ones have no place', () => {
  const table = new AddressTable(256);
  const accounts = Array.from({ length: 5_000 }, (_, index) => `address ${index}`);
  const placed = accounts.filter((account) => use(table, account, 3, 0));
  expect(placed.length).toBeGreaterThan(200);
  expect(placed.length).toBeLessThan(257);
  expect(table.size).toBe(placed.length);
  for (const account of placed) expect(usedBy(table, account, 0)).toEqual({ missing: 3, day: 3 });
});

it('an account that is as if unused makes place: after its day, when its rate is full', () => {
  const table = new AddressTable(256);
  const fill = (prefix: string, now: number, date?: UtcDate): number =>
    Array.from({ length: 5_000 }, (_, index) => use(table, `${prefix} ${index}`, 3, now, date)).filter(Boolean).length;
  const first = fill('one', 0);
  expect(fill('two', 2_000)).toBe(0);
  expect(fill('three', 3_601_000, tomorrow)).toBe(first);
});

it('when there is no place, accounts that have used less than 1 % of their day make it', () => {
  const table = new AddressTable(512);
  const fill = (name: string, units: number, now: number, count = 5_000): string[] =>
    Array.from({ length: count }, (_, index) => `${name} ${index}`).filter((account) =>
      use(table, account, units, now),
    );
  const heavy = fill('heavy', 2, 0, 100);
  expect(fill('light', 1, 0).length).toBeGreaterThan(350);
  // Their rate is not full yet.
  expect(fill('early', 1, 500)).toEqual([]);
  expect(fill('late', 1, 2_000).length).toBeGreaterThan(350);
  for (const account of heavy) expect(usedBy(table, account, 2_000)).toMatchObject({ day: 2 });
});

it('the units of a day end with it, what a rate lacks does not', () => {
  const table = new AddressTable();
  use(table, 'one', 5, 0);
  expect(usedBy(table, 'one', 10)).toEqual({ missing: 5, day: 5 });
  expect(usedBy(table, 'one', 20, tomorrow)).toEqual({ missing: 5, day: 0 });
});
