import type { LiveUpstreamOptions } from '../network-files/network-config.ts';
import { methodGroups, type MethodGroup } from '../spec/method-spec.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';
import { Turns, type Balanced } from './turns.ts';

const UPDATE_INTERVAL_MS = 1_000;
/** The slowest upstream gets this part of the calls of the fastest, so that its latency stays known. */
const MIN_WEIGHT = 0.1;
/** Differences of latency below this do not matter. */
const LEAST_MS = 1;

interface Ranked extends Balanced {
  readonly config: LiveUpstreamOptions;
  readonly latencyScore: LatencyScore;
}

interface Tier<U extends Ranked> {
  readonly members: readonly U[];
  /** Index of its first member in the order. */
  readonly start: number;
  readonly turns: Readonly<Record<MethodGroup, Turns<U>>>;
}

/** Orders the upstreams of one network by priority, and those of equal priority so that each gets its share of the calls. */
export class BalancedRanking<U extends Ranked> {
  readonly #balance: 'latency' | 'round-robin' | 'weighted';
  readonly #tiers: readonly Tier<U>[];
  /** Overwritten by each call of `order`. */
  readonly #order: U[];
  #updatedAt = -Infinity;

  /** @param inFile upstreams in the order of the network file */
  constructor(inFile: readonly U[], balance: 'latency' | 'round-robin' | 'weighted') {
    this.#balance = balance;
    this.#order = inFile.toSorted((one, other) => one.config.priority - other.config.priority);
    const priorities = [...new Set(this.#order.map(({ config }) => config.priority))];
    this.#tiers = priorities.map((priority) => {
      const members = this.#order.filter(({ config }) => config.priority === priority);
      const start = this.#order.findIndex(({ config }) => config.priority === priority);
      const turns = (): Turns<U> => new Turns(members);
      const byGroup = { lookup: turns(), execution: turns(), list: turns(), long: turns(), other: turns() };
      return { members, start, turns: byGroup };
    });
  }

  order(group: MethodGroup, now: number): readonly U[] {
    if (this.#balance !== 'round-robin' && now - this.#updatedAt >= UPDATE_INTERVAL_MS) this.#update(now);
    for (const { turns, start } of this.#tiers) turns[group].writeOrder(this.#order, start);
    return this.#order;
  }

  /** An upstream gets a call. */
  take(upstream: U, group: MethodGroup): void {
    for (const { turns } of this.#tiers) if (turns[group].take(upstream)) return;
  }

  #update(now: number): void {
    this.#updatedAt = now;
    for (const { members, turns } of this.#tiers)
      for (const group of methodGroups) turns[group].setWeights(this.#weights(members, group, now));
  }

  #weights(members: readonly U[], group: MethodGroup, now: number): (upstream: U) => number {
    if (this.#balance === 'weighted') return ({ config }) => config.weight;
    const scores = new Map(members.map((member) => [member, member.latencyScore.score(group, now)]));
    const known = [...scores.values()].filter((score) => score !== undefined);
    const fastest = known.length === 0 ? LEAST_MS : Math.max(LEAST_MS, Math.min(...known));
    // One without enough samples gets as many calls as the fastest.
    return (upstream) => Math.max(MIN_WEIGHT, fastest / Math.max(fastest, scores.get(upstream) ?? 0));
  }
}
