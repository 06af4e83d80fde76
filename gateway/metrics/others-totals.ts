import type { LongTotals } from './long-history.ts';
import type { NetworkTotals } from './network-history.ts';
import type { UpstreamTotals } from './upstream-history.ts';

/** What the status page sums up: the totals of one process. */
export interface HistoryTotals {
  readonly networks: ReadonlyMap<string, NetworkTotals>;
  readonly upstreams: ReadonlyMap<string, UpstreamTotals>;
  readonly long: ReadonlyMap<string, LongTotals>;
}

const kinds = ['networks', 'upstreams', 'long'] as const satisfies readonly (keyof HistoryTotals)[];

/** Totals of all kinds consist of these. */
type Numbers = Record<string, number | Float64Array>;

/**
 * What the other workers have counted since this one first read their totals. The sums never fall: those of a worker that has
 * ended stay. What a worker counted before the first read is in no step of this one.
 */
export class OthersTotals {
  readonly #sums = {
    networks: new Map<string, Numbers>(),
    upstreams: new Map<string, Numbers>(),
    long: new Map<string, Numbers>(),
  };
  #last: ReadonlyMap<number, HistoryTotals> = new Map();

  /** @param present the totals of each other worker now, by its id */
  add(present: ReadonlyMap<number, HistoryTotals>): HistoryTotals {
    for (const [id, now] of present) {
      const before = this.#last.get(id);
      if (before === undefined) continue;
      for (const kind of kinds) addIncreases(this.#sums[kind], numbersIn(now, kind), numbersIn(before, kind));
    }
    this.#last = present;
    return this.#sums as unknown as HistoryTotals;
  }
}

function numbersIn(totals: HistoryTotals, kind: keyof HistoryTotals): ReadonlyMap<string, Numbers> {
  return totals[kind] as unknown as ReadonlyMap<string, Numbers>;
}

function addIncreases(
  sums: Map<string, Numbers>,
  now: ReadonlyMap<string, Numbers>,
  before: ReadonlyMap<string, Numbers>,
): void {
  for (const [name, numbers] of now) {
    const sum = sums.get(name) ?? {};
    sums.set(name, sum);
    for (const [field, value] of Object.entries(numbers)) {
      const previous = before.get(name)?.[field];
      if (typeof value === 'number') sum[field] = Number(sum[field] ?? 0) + increase(value, Number(previous ?? 0));
      else {
        const added = (sum[field] ??= new Float64Array(value.length)) as Float64Array;
        const counts = (previous ?? []) as ArrayLike<number>;
        for (const [index, count] of value.entries())
          added[index] = (added[index] ?? 0) + increase(count, counts[index] ?? 0);
      }
    }
  }
}

/** A counter that was removed meanwhile restarts at 0. */
function increase(now: number, before: number): number {
  return now < before ? now : now - before;
}
