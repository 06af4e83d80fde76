import type { Balance, LiveUpstreamOptions } from '../network-files/network-config.ts';
import { methodGroups, type MethodGroup } from '../spec/method-spec.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';

const UPDATE_INTERVAL_MS = 1_000;
/** An upstream replaces the first if its latency score is better by this factor and by this many ms in addition. */
const MIN_GAIN_FACTOR = 1.3;
const MIN_GAIN_MS = 10;
/** Minimum time between two changes of the first upstream. */
const MIN_STAY_MS = 30_000;
/** Time after which the first upstream of the file is first again: only calls measure it, and it gets few of them. */
const MAX_STAY_MS = 300_000;

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
  /** Update of the ranking, once a second. */
  update(now: number): void;
  /** Writes the upstreams in their order into a list, from an index on. */
  writeOrder(order: U[], start: number): void;
  /** An upstream gets a call. Absent: a call changes no order. */
  take?(upstream: U): void;
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
  /** Array that each call of `order` overwrites. */
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
        if (balance === 'first')
          return new StickyFirst(
            members,
            group,
            before?.[group].filter((tier) => tier instanceof StickyFirst),
          );
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
    if (!this.#isFixed) for (const tier of this.#tiers[group]) tier.take?.(upstream);
  }
}

/**
 * Orders upstreams as in the network file. One of them is moved to the front if its latency score is clearly the best. Scores
 * are from the calls of callers only; upstreams other than the first are measured by hedges and retries.
 */
class StickyFirst<U extends Ranked> implements Tier<U> {
  readonly #members: readonly U[];
  readonly #group: MethodGroup;
  #first: U | undefined;
  #changedAt = 0;

  /** @param previous before a reload; the first upstream is kept if the first one in the file is the same */
  constructor(members: readonly U[], group: MethodGroup, previous: readonly StickyFirst<U>[] = []) {
    this.#members = members;
    this.#group = group;
    this.#first = members[0];
    const before = previous.find((tier) => tier.#members[0] === members[0]);
    if (before === undefined || before.#first === undefined || !members.includes(before.#first)) return;
    this.#first = before.#first;
    this.#changedAt = before.#changedAt;
  }

  update(now: number): void {
    const [firstInFile] = this.#members;
    const first = this.#first;
    if (firstInFile === undefined || first === undefined || this.#members.length === 1) return;
    const stayMs = now - this.#changedAt;
    if (first !== firstInFile && stayMs > MAX_STAY_MS) {
      firstInFile.latencyScore.clear(this.#group);
      this.#setFirst(firstInFile, now);
      return;
    }
    const score = first.latencyScore.score(this.#group, now);
    if (score === undefined || (stayMs < MIN_STAY_MS && this.#changedAt > 0)) return;
    let best: U | undefined;
    let bestScore = score / MIN_GAIN_FACTOR - MIN_GAIN_MS;
    for (const member of this.#members) {
      const memberScore = member.latencyScore.score(this.#group, now);
      if (member === first || memberScore === undefined || memberScore >= bestScore) continue;
      best = member;
      bestScore = memberScore;
    }
    if (best !== undefined) this.#setFirst(best, now);
  }

  writeOrder(order: U[], start: number): void {
    if (this.#first === undefined) return;
    let at = start;
    order[at++] = this.#first;
    for (const member of this.#members) if (member !== this.#first) order[at++] = member;
  }

  #setFirst(first: U, now: number): void {
    this.#first = first;
    this.#changedAt = now;
  }
}

interface Turn<U> {
  readonly upstream: U;
  readonly index: number;
  /** Weight: the share of the calls is the weight, divided by all weights. */
  weight: number;
  /** The virtual time of its next turn. */
  due: number;
}

/**
 * Divides calls among upstreams by weight. The upstream whose turn is due first is first; of equal ones, the one with the fewest
 * requests in flight, then the first of the file. Each call moves the turn of its upstream by 1 / weight (start-time fair
 * queueing: an upstream that got no calls for a while is owed none).
 */
class Turns<U extends Ranked> implements Tier<U> {
  /** Turns in the order of the last `writeOrder`. */
  readonly #turns: Turn<U>[];
  #now = 0;
  readonly #weigh: (now: number) => (upstream: U) => number;

  /** @param upstreams all with weight 1, until the first update */
  constructor(upstreams: readonly U[], weigh: (now: number) => (upstream: U) => number) {
    this.#weigh = weigh;
    this.#turns = upstreams.map((upstream, index) => ({ upstream, index, weight: 1, due: 0 }));
  }

  update(now: number): void {
    const weightOf = this.#weigh(now);
    for (const turn of this.#turns) turn.weight = weightOf(turn.upstream);
  }

  writeOrder(order: U[], start: number): void {
    const turns = this.#turns;
    // By insertion: the lists are short and nearly in order, and nothing is allocated.
    for (let index = 1; index < turns.length; index++) {
      const turn = turns[index] as Turn<U>;
      let at = index;
      for (; at > 0 && this.#isBefore(turn, turns[at - 1] as Turn<U>); at--) turns[at] = turns[at - 1] as Turn<U>;
      turns[at] = turn;
    }
    for (let index = 0; index < turns.length; index++) order[start + index] = (turns[index] as Turn<U>).upstream;
  }

  take(upstream: U): void {
    for (const turn of this.#turns) {
      if (turn.upstream !== upstream) continue;
      this.#now = Math.max(this.#now, turn.due);
      turn.due = this.#now + 1 / turn.weight;
    }
  }

  #isBefore(one: Turn<U>, other: Turn<U>): boolean {
    const difference = Math.max(one.due, this.#now) - Math.max(other.due, this.#now);
    if (difference !== 0) return difference < 0;
    const more = one.upstream.inFlight - other.upstream.inFlight;
    return more === 0 ? one.index < other.index : more < 0;
  }
}
