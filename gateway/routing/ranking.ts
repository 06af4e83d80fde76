import type { Balance, LiveUpstreamOptions } from '../network-files/network-config.ts';
import { methodGroups, type MethodGroup } from '../spec/method-spec.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';
import { StickyFirst } from './sticky-first.ts';
import { Turns } from './turns.ts';

const UPDATE_INTERVAL_MS = 1_000;
/** The slowest upstream gets this part of the calls of the fastest, so that its latency stays known. */
const MIN_WEIGHT = 0.1;
/** Differences of latency below this do not matter. */
const LEAST_MS = 1;

export interface Ranked {
  readonly config: LiveUpstreamOptions;
  readonly latencyScore: LatencyScore;
  /** Requests in flight at the upstream. */
  readonly inFlight: number;
}

/** The order of upstreams of equal priority, for one group of methods. */
interface Tier<U> {
  /** Called once a second. */
  update(now: number): void;
  /** Writes the upstreams in their order into a list, from an index on. */
  writeOrder(order: U[], start: number): void;
  /** An upstream gets a call. */
  take(upstream: U): void;
}

type Weigh = <U extends Ranked>(members: readonly U[], group: MethodGroup, now: number) => (upstream: U) => number;

/** The share of the calls of each upstream, by `balance`. */
const weights: Readonly<Record<Exclude<Balance, 'first'>, Weigh>> = {
  'round-robin': () => () => 1,
  weighted:
    () =>
    ({ config }) =>
      config.weight,
  latency: (members, group, now) => {
    const scores = new Map<Ranked, number | undefined>();
    for (const member of members) scores.set(member, member.latencyScore.score(group, now));
    const known = [...scores.values()].filter((score) => score !== undefined);
    const fastest = known.length === 0 ? LEAST_MS : Math.max(LEAST_MS, Math.min(...known));
    // One without enough samples gets as many calls as the fastest.
    return (upstream) => Math.max(MIN_WEIGHT, fastest / Math.max(fastest, scores.get(upstream) ?? 0));
  },
};

/**
 * Orders the upstreams of one network by priority, and those of equal priority by `balance`: one is first until another is
 * clearly faster, or each gets its share of the calls.
 */
export class Ranking<U extends Ranked> {
  readonly #tiers: Readonly<Record<MethodGroup, readonly Tier<U>[]>>;
  /** Overwritten by each call of `order`. */
  readonly #order: U[];
  /** The index of the first member of each tier. */
  readonly #starts: readonly number[];
  readonly #isFixed: boolean;
  #updatedAt = -Infinity;

  /**
   * @param inFile upstreams in the order of the network file
   * @param previous before a reload
   */
  constructor(inFile: readonly U[], balance: Balance = 'first', previous?: Ranking<U>) {
    this.#order = inFile.toSorted((one, other) => one.config.priority - other.config.priority);
    const priorities = [...new Set(this.#order.map(({ config }) => config.priority))];
    const byPriority = priorities.map((priority) => this.#order.filter(({ config }) => config.priority === priority));
    this.#starts = priorities.map((priority) => this.#order.findIndex(({ config }) => config.priority === priority));
    const before = previous === undefined ? undefined : previous.#tiers;
    const tiers = (group: MethodGroup): Tier<U>[] =>
      byPriority.map((members) => {
        if (balance === 'first') return new StickyFirst(members, group, before?.[group].filter(isSticky));
        return new Turns(members, (now) => weights[balance](members, group, now));
      });
    this.#tiers = {
      lookup: tiers('lookup'),
      execution: tiers('execution'),
      list: tiers('list'),
      long: tiers('long'),
      other: tiers('other'),
    };
    this.#isFixed = balance === 'first' && byPriority.every(({ length }) => length === 1);
  }

  /** The next call overwrites the list. */
  order(group: MethodGroup, now: number): readonly U[] {
    if (this.#isFixed) return this.#order;
    if (now - this.#updatedAt >= UPDATE_INTERVAL_MS) {
      this.#updatedAt = now;
      for (const each of methodGroups) for (const tier of this.#tiers[each]) tier.update(now);
    }
    const tiers = this.#tiers[group];
    for (let index = 0; index < tiers.length; index++)
      tiers[index]?.writeOrder(this.#order, this.#starts[index] as number);
    return this.#order;
  }

  /** An upstream gets a call. */
  take(upstream: U, group: MethodGroup): void {
    if (!this.#isFixed) for (const tier of this.#tiers[group]) tier.take(upstream);
  }
}

function isSticky<U extends Ranked>(tier: Tier<U>): tier is StickyFirst<U> {
  return tier instanceof StickyFirst;
}
