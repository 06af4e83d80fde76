import type { MethodGroup } from '../spec/method-spec.ts';
import type { LatencyScore } from '../upstreams/latency-score.ts';

/** An upstream replaces the first if its latency score is better by this factor and by this many ms in addition. */
const MIN_GAIN_FACTOR = 1.3;
const MIN_GAIN_MS = 10;
/** Minimum time between two changes of the first upstream. */
const MIN_STAY_MS = 30_000;
/** After this time the first upstream of the file is first again: only calls measure it, and it gets few of them. */
const MAX_STAY_MS = 300_000;

/**
 * Orders upstreams as in the network file. One of them is moved to the front if its latency score is clearly the best. Scores
 * are from the calls of callers only; upstreams other than the first are measured by hedges and retries.
 */
export class StickyFirst<U extends { readonly latencyScore: LatencyScore }> {
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

  take(): void {
    // A call changes no order.
  }

  #setFirst(first: U, now: number): void {
    this.#first = first;
    this.#changedAt = now;
  }
}
