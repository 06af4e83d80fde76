import type { HeadFollower } from './head-follower.ts';
import { MAX_GAS_LIMIT_AGE_MS, type PolledHead } from './polled-head.ts';

/** Holds the gas limit of the network's newest block that has a usable one. */
export class HeadGasLimit {
  #block: PolledHead | undefined;

  /**
   * 0: no block has a usable gas limit. Undefined: the last one is older than five minutes, or no block is known.
   * @param now on the clock of performance.now()
   */
  get(now: number): bigint | undefined {
    return this.#block !== undefined && now - this.#block.at < MAX_GAS_LIMIT_AGE_MS ? this.#block.gasLimit : undefined;
  }

  /** If the new head's gas limit is 0, the head of an upstream with a usable one replaces it. */
  update(head: PolledHead, followers: readonly HeadFollower[]): void {
    if (head.gasLimit === 0n) this.#block = followers.find(({ hasGasLimit }) => hasGasLimit)?.latest ?? head;
    else if (head.gasLimit !== undefined) this.#block = head;
  }
}
