import type { LiveUpstreamOptions } from '../network-files/network-config.ts';
import { methodGroups, type MethodGroup } from '../spec/method-spec.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';

/** An upstream replaces the first if its latency score is better by this factor and by this many ms in addition. */
const MIN_GAIN_FACTOR = 1.3;
const MIN_GAIN_MS = 10;
const UPDATE_INTERVAL_MS = 1_000;
/** Minimum time between two changes of the first upstream. */
const MIN_STAY_MS = 30_000;
/** After this time the first upstream of the file is first again: only calls measure it, and it gets few of them. */
const MAX_STAY_MS = 300_000;

interface Ranked {
  readonly config: LiveUpstreamOptions;
  readonly latencyScore: LatencyScore;
}

/** Upstreams of equal priority. */
interface Tier<U> {
  readonly members: readonly U[];
  first: U;
  changedAt: number;
}

/**
 * Orders the upstreams of one network by priority. Upstreams of equal priority are in the order of the network file. One of
 * them is moved to the front if its latency score is clearly the best. Scores are from the calls of callers only; upstreams
 * other than the first are measured by hedges and retries.
 */
export class Ranking<U extends Ranked> {
  readonly #tiers: Readonly<Record<MethodGroup, readonly Tier<U>[]>>;
  readonly #orders: Record<MethodGroup, readonly U[]>;
  readonly #isFixed: boolean;
  #updatedAt = -Infinity;

  /**
   * @param inFile upstreams in the order of the network file
   * @param previous before a reload; a tier keeps its first upstream if its first upstream in the file is the same
   */
  constructor(inFile: readonly U[], previous?: Ranking<U>) {
    const priorities = [...new Set(inFile.map(({ config }) => config.priority))].sort((a, b) => a - b);
    const byPriority = priorities.map((priority) => inFile.filter(({ config }) => config.priority === priority));
    const previousTiers = previous === undefined ? undefined : previous.#tiers;
    const tiers = (group: MethodGroup): Tier<U>[] =>
      byPriority.flatMap((members) => {
        const [firstInFile] = members;
        const previousTier = previousTiers?.[group].find(({ members: [one] }) => one === firstInFile);
        if (previousTier !== undefined && members.includes(previousTier.first)) return { ...previousTier, members };
        return firstInFile === undefined ? [] : { members, first: firstInFile, changedAt: 0 };
      });
    this.#tiers = {
      lookup: tiers('lookup'),
      execution: tiers('execution'),
      list: tiers('list'),
      long: tiers('long'),
      other: tiers('other'),
    };
    const order = (group: MethodGroup): readonly U[] => this.#tiers[group].flatMap(membersInOrder);
    this.#orders = {
      lookup: order('lookup'),
      execution: order('execution'),
      list: order('list'),
      long: order('long'),
      other: order('other'),
    };
    this.#isFixed = byPriority.every(({ length }) => length === 1);
  }

  order(group: MethodGroup, now: number): readonly U[] {
    if (!this.#isFixed && now - this.#updatedAt >= UPDATE_INTERVAL_MS) this.#update(now);
    return this.#orders[group];
  }

  /** An upstream gets a call, which changes no order. */
  take(): void {
    // one upstream is first until another is clearly faster
  }

  #update(now: number): void {
    this.#updatedAt = now;
    for (const group of methodGroups) {
      const changes = this.#tiers[group].map((tier) => updateFirst(tier, group, now));
      if (changes.includes(true)) this.#orders[group] = this.#tiers[group].flatMap(membersInOrder);
    }
  }
}

/** @returns whether the first upstream of the tier has changed */
function updateFirst<U extends Ranked>(tier: Tier<U>, group: MethodGroup, now: number): boolean {
  const [firstInFile] = tier.members;
  if (firstInFile === undefined || tier.members.length === 1) return false;
  const stayMs = now - tier.changedAt;
  if (tier.first !== firstInFile && stayMs > MAX_STAY_MS) {
    firstInFile.latencyScore.clear(group);
    return setFirst(tier, firstInFile, now);
  }
  const score = tier.first.latencyScore.score(group, now);
  if (score === undefined || (stayMs < MIN_STAY_MS && tier.changedAt > 0)) return false;
  let best: U | undefined;
  let bestScore = score / MIN_GAIN_FACTOR - MIN_GAIN_MS;
  for (const member of tier.members) {
    const memberScore = member.latencyScore.score(group, now);
    if (member === tier.first || memberScore === undefined || memberScore >= bestScore) continue;
    best = member;
    bestScore = memberScore;
  }
  return best !== undefined && setFirst(tier, best, now);
}

function setFirst<U>(tier: Tier<U>, first: U, now: number): true {
  tier.first = first;
  tier.changedAt = now;
  return true;
}

function membersInOrder<U>({ members, first }: Tier<U>): U[] {
  return [first, ...members.filter((member) => member !== first)];
}
