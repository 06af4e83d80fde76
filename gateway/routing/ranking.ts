import { methodGroups, type MethodGroup } from '../spec/method-group.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';

/** A better one shall be better by so much, in parts and in ms, before it takes the place of the first. */
const CLEARLY = 1.3;
const CLEARLY_MS = 10;
const LOOK_EVERY_MS = 1_000;
const LEAST_STAY_MS = 30_000;
/** Then the first in the file gets another chance. While it is passed over nobody measures it. */
const LONGEST_STAY_MS = 300_000;

interface Ranked {
  readonly priority: number;
  readonly latencyScore: LatencyScore;
}

/** Upstreams of equal priority. */
interface Tier<U> {
  readonly members: readonly U[];
  first: U;
  changedAt: number;
}

/**
 * In which order upstreams are asked: by priority, and among equals as the file has them, but that one which is clearly
 * better than the first comes before it. What is measured are calls that were made anyway; others than the first get
 * theirs by hedging and when it fails.
 */
export class Ranking<U extends Ranked> {
  readonly #tiers: Readonly<Record<MethodGroup, readonly Tier<U>[]>>;
  readonly #orders: Record<MethodGroup, readonly U[]>;
  readonly #isFixed: boolean;
  #lookedAt = -Infinity;

  /**
   * @param inFile the first is the best, as far as the operator knows
   * @param previous whose choices stand among equals that are led by the same one still
   */
  constructor(inFile: readonly U[], previous?: Ranking<U>) {
    const priorities = [...new Set(inFile.map(({ priority }) => priority))].sort((a, b) => a - b);
    const byPriority = priorities.map((priority) => inFile.filter((one) => one.priority === priority));
    const tiersBefore = previous === undefined ? undefined : previous.#tiers;
    const tiers = (group: MethodGroup): Tier<U>[] =>
      byPriority.flatMap((members) => {
        const [inFront] = members;
        const known = tiersBefore?.[group].find(({ members: [its] }) => its === inFront);
        if (known !== undefined && members.includes(known.first)) return { ...known, members };
        return inFront === undefined ? [] : { members, first: inFront, changedAt: 0 };
      });
    this.#tiers = {
      lookup: tiers('lookup'),
      execution: tiers('execution'),
      list: tiers('list'),
      other: tiers('other'),
    };
    const order = (group: MethodGroup): readonly U[] => this.#tiers[group].flatMap(inOrder);
    this.#orders = {
      lookup: order('lookup'),
      execution: order('execution'),
      list: order('list'),
      other: order('other'),
    };
    this.#isFixed = byPriority.every(({ length }) => length === 1);
  }

  order(group: MethodGroup, now: number): readonly U[] {
    if (!this.#isFixed && now - this.#lookedAt >= LOOK_EVERY_MS) this.#look(now);
    return this.#orders[group];
  }

  #look(now: number): void {
    this.#lookedAt = now;
    for (const group of methodGroups) {
      const changed = this.#tiers[group].map((tier) => choosesAnother(tier, group, now));
      if (changed.includes(true)) this.#orders[group] = this.#tiers[group].flatMap(inOrder);
    }
  }
}

function choosesAnother<U extends Ranked>(tier: Tier<U>, group: MethodGroup, now: number): boolean {
  const [inFile] = tier.members;
  if (inFile === undefined || tier.members.length === 1) return false;
  const stayed = now - tier.changedAt;
  if (tier.first !== inFile && stayed > LONGEST_STAY_MS) {
    inFile.latencyScore.clear(group);
    return change(tier, inFile, now);
  }
  const score = tier.first.latencyScore.score(group, now);
  if (score === undefined || (stayed < LEAST_STAY_MS && tier.changedAt > 0)) return false;
  let best: U | undefined;
  let bestScore = score / CLEARLY - CLEARLY_MS;
  for (const one of tier.members) {
    const its = one.latencyScore.score(group, now);
    if (one === tier.first || its === undefined || its >= bestScore) continue;
    best = one;
    bestScore = its;
  }
  return best !== undefined && change(tier, best, now);
}

function change<U>(tier: Tier<U>, first: U, now: number): true {
  tier.first = first;
  tier.changedAt = now;
  return true;
}

function inOrder<U>({ members, first }: Tier<U>): U[] {
  return [first, ...members.filter((one) => one !== first)];
}
