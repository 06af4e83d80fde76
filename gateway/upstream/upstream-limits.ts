import type { UpstreamLimitsConfig } from '../network/network-config.ts';

const SHORTEST_WAIT_MS = 100;

/**
 * How much of an upstream may be used, so that a plan is not overrun. What the gateway asks for itself is counted too,
 * but never refused, so that the account may fall below zero.
 */
export class UpstreamLimits {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #concurrency: number;
  #tokens: number;
  #filledAt = -Infinity;
  #underWay = 0;

  constructor({ perSecond = Infinity, burst = Math.max(1, perSecond), concurrency = Infinity }: UpstreamLimitsConfig) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#concurrency = concurrency;
    this.#tokens = burst;
  }

  hasRoom(now: number): boolean {
    this.#fill(now);
    return this.#tokens >= 1 && this.#underWay < this.#concurrency;
  }

  began(now: number): void {
    this.#fill(now);
    // What the gateway asks for itself may go beyond, but callers need not pay that off for long.
    this.#tokens = Math.max(this.#tokens - 1, -this.#burst);
    this.#underWay++;
  }

  ended(): void {
    this.#underWay--;
  }

  /** Until there may be room again. */
  waitMs(now: number): number {
    this.#fill(now);
    if (this.#perSecond === Infinity) return SHORTEST_WAIT_MS;
    return Math.max(SHORTEST_WAIT_MS, ((1 - this.#tokens) / this.#perSecond) * 1_000);
  }

  #fill(now: number): void {
    if (this.#perSecond === Infinity) return;
    const passed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(this.#burst, this.#tokens + (passed * this.#perSecond) / 1_000);
    this.#filledAt = now;
  }
}
