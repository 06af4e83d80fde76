import type { PolledHead } from './polled-head.ts';

/** Size of the sample: it evens out timestamps in whole seconds, of which some have four blocks and others none. */
const SAMPLE_BLOCKS = 32;

/** Default lag at which an upstream is skipped: from proxyd, for networks with a block every 2 s. */
const MAX_LAG_BLOCKS = 8;
/** The same as a time, for faster networks: their nodes are seconds apart, too. */
const MAX_LAG_MS = 16_000;

const MIN_BLOCK_MS = 100;
const MAX_BLOCK_MS = 60_000;

/** Estimates the time between a network's blocks from its heads. */
export class BlockPace {
  #last: PolledHead | undefined;
  #meanMs = 0;
  #blocks = 0;

  /** Time between blocks. Undefined until two heads are known. */
  get ms(): number | undefined {
    return this.#blocks === 0 ? undefined : Math.min(Math.max(this.#meanMs, MIN_BLOCK_MS), MAX_BLOCK_MS);
  }

  /** The lag in blocks above which an upstream is skipped. */
  get maxLag(): number {
    return this.ms === undefined ? MAX_LAG_BLOCKS : Math.max(MAX_LAG_BLOCKS, Math.ceil(MAX_LAG_MS / this.ms));
  }

  observe(polled: PolledHead): void {
    const last = this.#last;
    this.#last = polled;
    if (last === undefined || polled.number <= last.number) return;
    const blocks = Math.min(Number(polled.number - last.number), SAMPLE_BLOCKS);
    const msPerBlock = msBetween(last, polled) / Number(polled.number - last.number);
    this.#blocks = Math.min(this.#blocks + blocks, SAMPLE_BLOCKS);
    this.#meanMs += ((msPerBlock - this.#meanMs) * blocks) / this.#blocks;
  }

  /** Polling stops: the next head says nothing about the block time. */
  pause(): void {
    this.#last = undefined;
  }
}

/** By block timestamps if known: they do not depend on the poll interval. */
function msBetween(from: PolledHead, to: PolledHead): number {
  if (from.timestamp === undefined || to.timestamp === undefined) return to.at - from.at;
  return Number(to.timestamp - from.timestamp) * 1_000;
}
