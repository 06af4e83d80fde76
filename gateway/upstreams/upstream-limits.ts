import { RpcError } from '../jsonrpc/errors.ts';
import type { UpstreamLimitsConfig } from '../network-files/network-config.ts';

const MIN_WAIT_MS = 100;

/**
 * Limits the request rate and concurrency of one upstream to its plan. Requests that the gateway itself makes, such as
 * polls, also take tokens but are never rejected. The number of tokens can therefore be negative.
 */
export class UpstreamLimits {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #concurrency: number;
  #tokens: number;
  #refilledAt = -Infinity;
  #inFlight = 0;

  /** @param workers that send requests: each has a part, of the burst and of the concurrency at least 1 */
  constructor(
    { perSecond = Infinity, burst = Math.max(1, perSecond), concurrency = Infinity }: UpstreamLimitsConfig,
    workers = 1,
  ) {
    this.#perSecond = perSecond / workers;
    this.#burst = Math.max(1, burst / workers);
    this.#concurrency = Math.max(1, Math.floor(concurrency / workers));
    this.#tokens = this.#burst;
  }

  hasCapacity(now: number): boolean {
    this.#refill(now);
    return this.#tokens >= 1 && this.#inFlight < this.#concurrency;
  }

  beginRequest(now: number): void {
    this.#refill(now);
    // The gateway's own requests may exceed the limit, by one burst at most: that bounds the delay for callers.
    this.#tokens = Math.max(this.#tokens - 1, -this.#burst);
    this.#inFlight++;
  }

  endRequest(): void {
    this.#inFlight--;
  }

  /** Estimated time until the upstream has capacity. */
  waitMs(now: number): number {
    this.#refill(now);
    if (this.#perSecond === Infinity) return MIN_WAIT_MS;
    return Math.max(MIN_WAIT_MS, ((1 - this.#tokens) / this.#perSecond) * 1_000);
  }

  #refill(now: number): void {
    if (this.#perSecond === Infinity) return;
    const elapsedMs = Math.max(0, now - this.#refilledAt);
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsedMs * this.#perSecond) / 1_000);
    this.#refilledAt = now;
  }
}

/** All upstreams are at their `limits`. Other calls are overloaded because of the gateway's own bounds. */
export class UpstreamsAtLimit extends RpcError {
  constructor(waitMs: number) {
    const retryAfterS = Math.ceil(waitMs / 1_000);
    super('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
  }
}
