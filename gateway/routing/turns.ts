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
 * requests in flight, then the first of the file. Each call moves the turn of its upstream by 1 / weight (start-time fair queueing: an upstream that got no
 * calls for a while is owed none).
 */
export class Turns<U extends { readonly inFlight: number }> {
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

  /** Writes the upstreams in the order of their turns into a list, from an index on. */
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

  /** An upstream gets a call. */
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
