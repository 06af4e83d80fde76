import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { InFlightMap } from '../../gateway/collections/in-flight-map.ts';
import { InFlightSet } from '../../gateway/collections/in-flight-set.ts';

interface Entry {
  place: number;
  readonly payload: object;
}

function makeEntry(): Entry {
  return { place: -1, payload: Array.from({ length: 250 }, () => ({})) };
}

it('a set contains what was added and not deleted', () => {
  const set = new InFlightSet<'place', Entry>('place');
  const [first, second, third] = [makeEntry(), makeEntry(), makeEntry()];
  set.add(first);
  set.add(second);
  set.add(third);
  expect(set.delete(first)).toBe(true);
  expect(new Set(set.entries)).toEqual(new Set([second, third]));
  expect(set.delete(first)).toBe(false);
  expect(set.delete(third)).toBe(true);
  expect(set.delete(second)).toBe(true);
  expect(set.entries).toEqual([]);
  set.add(first);
  expect(set.entries).toEqual([first]);
  expect(set.delete(second)).toBe(false);
});

it('a set does not delete an entry of another set', () => {
  const [set, other] = [new InFlightSet<'place', Entry>('place'), new InFlightSet<'place', Entry>('place')];
  const [entry, foreign] = [makeEntry(), makeEntry()];
  set.add(entry);
  other.add(foreign);
  expect(set.delete(foreign)).toBe(false);
  expect(set.entries).toEqual([entry]);
});

it('a map has its entries after any number of additions', () => {
  const map = new InFlightMap<number, string>();
  for (let key = 0; key < 1_000; key++) {
    map.set(key, `value ${key}`);
    if (key >= 10) expect(map.delete(key - 10)).toBe(true);
  }
  expect(map.size).toBe(10);
  expect([...map.keys()].sort((a, b) => a - b)).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
  expect([map.get(989), map.get(990), map.get(999)]).toEqual([undefined, 'value 990', 'value 999']);
  expect([...map.values()]).toContain('value 995');
  map.clear();
  expect([map.size, map.get(999)]).toEqual([0, undefined]);
});

const LIVE_ENTRIES = 64;

/** MB in use after 80 MB of entries came and went, with minor garbage collections only. */
function retainedMb(add: (entry: Entry) => void, remove: (entry: Entry) => void): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const live: Entry[] = [];
  const comeAndGo = (count: number): void => {
    for (let index = 0; index < count; index++) {
      const [entry, oldest] = [makeEntry(), live[index % LIVE_ENTRIES]];
      add(entry);
      live[index % LIVE_ENTRIES] = entry;
      if (oldest !== undefined) remove(oldest);
    }
  };
  comeAndGo(2 * LIVE_ENTRIES);
  collect();
  const before = process.memoryUsage().heapUsed;
  comeAndGo(5_000);
  for (let round = 0; round < 3; round++) collect({ type: 'minor' });
  return (process.memoryUsage().heapUsed - before) / 1e6;
}

it('entries that are removed from a set are freed by minor garbage collections', () => {
  const set = new InFlightSet<'place', Entry>('place');
  const retained = retainedMb(
    (entry) => {
      set.add(entry);
    },
    (entry) => set.delete(entry),
  );
  expect(retained).toBeLessThan(4);
});

it('entries that are removed from a map are freed by minor garbage collections', () => {
  const map = new InFlightMap<Entry, Entry>();
  const retained = retainedMb(
    (entry) => {
      map.set(entry, entry);
    },
    (entry) => map.delete(entry),
  );
  expect(retained).toBeLessThan(4);
});

it('entries that are removed from a Set are not below Node 24: there a Set is enough (seen with 24.22.3)', () => {
  const set = new Set<Entry>();
  const retained = retainedMb(
    (entry) => set.add(entry),
    (entry) => set.delete(entry),
  );
  const [major = ''] = process.versions.node.split('.');
  expect(retained > 8).toBe(Number(major) < 24);
});
