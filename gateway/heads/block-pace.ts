import type { Look } from './look.ts';

/** So many blocks make the mean: enough to even out seconds that hold four blocks or none. */
const BLOCKS = 32;

/** How far behind an upstream may be: proxyd's number, which is of networks with a block every two seconds. */
const BEHIND_BLOCKS = 8;
/** So long, then, on quicker ones, whose nodes are seconds apart as well. */
const BEHIND_MS = 16_000;

const LEAST_MS = 100;
const MOST_MS = 60_000;

/** The time between a network's blocks, learned from its heads. */
export class BlockPace {
  #last: Look | undefined;
  #meanMs = 0;
  #blocks = 0;

  /** Undefined until two heads were seen. */
  get ms(): number | undefined {
    return this.#blocks === 0 ? undefined : Math.min(Math.max(this.#meanMs, LEAST_MS), MOST_MS);
  }

  /** In blocks: an upstream that is further behind is out of step. */
  get mostBehind(): number {
    return this.ms === undefined ? BEHIND_BLOCKS : Math.max(BEHIND_BLOCKS, Math.ceil(BEHIND_MS / this.ms));
  }

  saw(look: Look): void {
    const last = this.#last;
    this.#last = look;
    if (last === undefined || look.number <= last.number) return;
    const blocks = Math.min(Number(look.number - last.number), BLOCKS);
    const apiece = between(last, look) / Number(look.number - last.number);
    this.#blocks = Math.min(this.#blocks + blocks, BLOCKS);
    this.#meanMs += ((apiece - this.#meanMs) * blocks) / this.#blocks;
  }

  /** What is seen next comes after a pause: it says nothing of the time between. */
  pause(): void {
    this.#last = undefined;
  }
}

/** By the blocks' own clock, which is right however rarely we look. */
function between(from: Look, to: Look): number {
  if (from.timestamp === undefined || to.timestamp === undefined) return to.at - from.at;
  return Number(to.timestamp - from.timestamp) * 1_000;
}
