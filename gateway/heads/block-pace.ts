import type { PolledHead } from './head-poll.ts';

/** So many blocks make the mean: enough to even out seconds that hold four blocks or none. */
const SAMPLE_BLOCKS = 32;

/** How far behind an upstream may be: proxyd's number, which is of networks with a block every two seconds. */
const MAX_LAG_BLOCKS = 8;
/** So long, then, on quicker ones, whose nodes are seconds apart as well. */
const MAX_LAG_MS = 16_000;

const MIN_BLOCK_MS = 100;
const MAX_BLOCK_MS = 60_000;

/** The time between a network's blocks, learned from its heads. */
export class BlockPace {
  #last: PolledHead | undefined;
  #meanMs = 0;
  #blocks = 0;

  /** Undefined until two heads were seen. */
  get ms(): number | undefined {
    return this.#blocks === 0 ? undefined : Math.min(Math.max(this.#meanMs, MIN_BLOCK_MS), MAX_BLOCK_MS);
  }

  /** In blocks: an upstream that is further behind is out of step. */
  get maxLag(): number {
    return this.ms === undefined ? MAX_LAG_BLOCKS : Math.max(MAX_LAG_BLOCKS, Math.ceil(MAX_LAG_MS / this.ms));
  }

  observe(polled: PolledHead): void {
    const last = this.#last;
    this.#last = polled;
    if (last === undefined || polled.number <= last.number) return;
    const blocks = Math.min(Number(polled.number - last.number), SAMPLE_BLOCKS);
    const msPerBlock = between(last, polled) / Number(polled.number - last.number);
    this.#blocks = Math.min(this.#blocks + blocks, SAMPLE_BLOCKS);
    this.#meanMs += ((msPerBlock - this.#meanMs) * blocks) / this.#blocks;
  }

  /** What is seen next comes after a pause: it says nothing of the time between. */
  pause(): void {
    this.#last = undefined;
  }
}

/** By the blocks' own clock, which is right however rarely we look. */
function between(from: PolledHead, to: PolledHead): number {
  if (from.timestamp === undefined || to.timestamp === undefined) return to.at - from.at;
  return Number(to.timestamp - from.timestamp) * 1_000;
}
