import type { SeenHead } from './header.ts';
import { highestPlausible, nearBlocks } from './select-head.ts';

/** Time after which the upstream that returned the block has it at each poll, or the number was wrong. */
const MAX_ABOVE_HEAD_MS = 15_000;

const NONE = { number: -1n, at: -Infinity };

/**
 * Holds the number of the newest block of one network that callers and subscribers were served, for the cache and for
 * routing. It rises with each served block. It falls only when the upstreams agree on a lower head, or if the upstream that
 * returned the block has a lower head 15 s later. It may be above the network's head, because a response can be newer than
 * the last poll.
 */
export class NewestServed<U> {
  #number = 0n;
  #recordedAt = -Infinity;
  #source: U | undefined;
  /** The newest block that was served as the newest one although it is lower: the chain may be shorter now. */
  #lower = NONE;
  #head: SeenHead | undefined;
  #blockMs: number | undefined;

  /** Number of the newest served block; 0: no block was served. */
  get number(): bigint {
    return this.#number;
  }

  /** Time at which it was served, or became known from another worker. */
  get recordedAt(): number {
    return this.#recordedAt;
  }

  /** The upstream that returned it; undefined: it was the network's head. */
  get source(): U | undefined {
    return this.#source;
  }

  /**
   * A caller or a subscriber is served a block. A number far above the network's head is wrong, and is ignored.
   * @param source the upstream that returned it; undefined: it was the network's head
   * @param mayBeNewest it was returned for `latest`, no newer one of that upstream is known, or it is of another branch
   */
  record(number: bigint, source: U | undefined, now: number, mayBeNewest: boolean): void {
    if (mayBeNewest && number < this.#number) this.#recordLower(number, now);
    if (number <= this.#number) return;
    if (this.#head !== undefined && number > highestPlausible(this.#head, now, this.#blockMs)) return;
    this.#number = number;
    this.#lower = NONE;
    this.#recordedAt = now;
    this.#source = source;
  }

  /** The chain was changed by a request, and may be shorter now. */
  forget(): void {
    this.#number = 0n;
  }

  /**
   * The network has a new head.
   * @param blockMs time between blocks, if known
   * @param hasFallen the upstreams agree that the chain is shorter than before
   * @param headOf the newest known block of an upstream
   */
  follow(
    head: SeenHead,
    blockMs: number | undefined,
    hasFallen: boolean,
    headOf: (upstream: U) => SeenHead | undefined,
  ): void {
    this.#head = head;
    this.#blockMs = blockMs;
    const highest = hasFallen || this.#isWrong(headOf) ? head.number : highestPlausible(head, head.at, blockMs);
    if (this.#number > highest) this.#number = hasFallen ? this.#lowerFrom(head, blockMs) : head.number;
  }

  /** Responses arrive out of order. A block far below the last one is of another chain, and replaces it. */
  #recordLower(number: bigint, now: number): void {
    const { number: last, at } = this.#lower;
    const isOlder = number < last && last - number <= nearBlocks(this.#blockMs) / 2n;
    if (isOlder && now - at < MAX_ABOVE_HEAD_MS) return;
    this.#lower = { number, at: now };
  }

  /** Callers may have been served newer blocks of the shorter chain than its head, before it was agreed on. */
  #lowerFrom(head: SeenHead, blockMs: number | undefined): bigint {
    const { number, at } = this.#lower;
    const isNew = head.at - at < MAX_ABOVE_HEAD_MS && number <= highestPlausible(head, head.at, blockMs);
    return isNew && number > head.number ? number : head.number;
  }

  /** An upstream that cannot be polled proves nothing: it may have failed after it returned the block. */
  #isWrong(headOf: (upstream: U) => SeenHead | undefined): boolean {
    const latest = this.#source === undefined ? undefined : headOf(this.#source);
    return latest !== undefined && latest.number < this.#number && latest.at - this.#recordedAt > MAX_ABOVE_HEAD_MS;
  }
}
