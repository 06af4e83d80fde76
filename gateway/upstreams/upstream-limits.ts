import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { UpstreamLimitsConfig } from '../network-files/network-config.ts';

const MIN_WAIT_MS = 100;

/** Sums of refilled parts of tokens are not exact. */
const ROUNDING = 1e-9;

/** The workers that send requests to an upstream together. */
export interface SharedLimits {
  readonly leases: SlotLeases;
  /** Name of the upstream, unique among all networks. */
  readonly name: string;
}

/**
 * Limits the request rate and concurrency of one upstream to its plan. Requests that the gateway itself makes, such as
 * polls, also take tokens but are never rejected. The number of tokens can therefore be negative.
 */
export class UpstreamLimits {
  readonly #tokens: Tokens | undefined;
  readonly #requests: RequestSlots | undefined;

  /** @param shared undefined: this process has the limits alone */
  constructor({ perSecond, burst, concurrency }: UpstreamLimitsConfig, shared?: SharedLimits) {
    if (perSecond !== undefined) this.#tokens = new Tokens(perSecond, burst ?? Math.max(1, perSecond), shared);
    if (concurrency !== undefined) this.#requests = new RequestSlots(concurrency, shared);
  }

  /** Whether a request may be sent. If not, slots that other workers do not use are requested. */
  hasCapacity(now: number): boolean {
    const short = this.#shortage(now);
    void short?.lease?.requestMore();
    return short === undefined;
  }

  /** @returns resolves when other workers have returned what they do not use; undefined: it has capacity, or they use all */
  moreCapacity(now: number): Promise<void> | undefined {
    const short = this.#shortage(now);
    if (short === undefined) return undefined;
    short.waiting++;
    const granted = short.lease?.requestMore();
    const ended = (): void => {
      short.waiting--;
    };
    if (granted !== undefined) return granted.finally(ended);
    ended();
    return undefined;
  }

  beginRequest(now: number): void {
    this.#tokens?.take(now);
    this.#requests?.take();
  }

  endRequest(): void {
    this.#requests?.release();
  }

  /** Time, estimated, until the upstream has capacity. */
  waitMs(now: number): number {
    return Math.max(MIN_WAIT_MS, this.#tokens?.waitMs(now) ?? 0);
  }

  /** Returns what it has to the other workers. */
  close(): void {
    this.#tokens?.lease?.close();
    this.#requests?.lease?.close();
  }

  #shortage(now: number): Tokens | RequestSlots | undefined {
    if (this.#tokens?.isEmpty(now) === true) return this.#tokens;
    return this.#requests?.isFull === true ? this.#requests : undefined;
  }
}

/** Requests in flight. */
class RequestSlots implements SlotPool {
  size: number;
  inFlight = 0;
  /** Calls that wait for slots of other workers. */
  waiting = 0;
  readonly lease: SlotLease | undefined;

  constructor(limit: number, shared: SharedLimits | undefined) {
    this.size = shared === undefined ? limit : 0;
    this.lease = shared?.leases.open(`upstream:${shared.name}:concurrency`, limit, this);
  }

  get isFull(): boolean {
    return this.inFlight >= this.size;
  }

  take(): void {
    this.inFlight++;
  }

  release(): void {
    this.inFlight--;
    this.lease?.requestEnded();
  }
}

/**
 * A bucket of tokens, each of which is a slot that is in use until it is refilled. A worker refills those that it has, at their
 * part of the rate, and returns full ones: so the workers together never send more than the burst and the rate.
 */
class Tokens implements SlotPool {
  /** Number of waiting requests, as in `RequestSlots`. */
  waiting = 0;
  readonly lease: SlotLease | undefined;
  /** Tokens at once, in all workers together. */
  readonly #burst: number;
  readonly #perSecond: number;
  #size: number;
  #missing = 0;
  #refilledAt: number | undefined;

  constructor(perSecond: number, burst: number, shared: SharedLimits | undefined) {
    this.#perSecond = perSecond;
    this.#burst = shared === undefined ? burst : Math.floor(burst);
    this.#size = shared === undefined ? burst : 0;
    this.lease = shared?.leases.open(`upstream:${shared.name}:rate`, this.#burst, this);
  }

  get size(): number {
    return this.#size;
  }

  set size(size: number) {
    this.#refill(clock.now());
    this.#size = size;
  }

  get inFlight(): number {
    this.#refill(clock.now());
    return Math.ceil(this.#missing - ROUNDING);
  }

  isEmpty(now: number): boolean {
    this.#refill(now);
    return this.#missing + 1 > this.#size + ROUNDING;
  }

  take(now: number): void {
    if (this.isEmpty(now)) void this.lease?.requestMore();
    // The gateway's own requests may exceed the limit, by one burst at most: that bounds the delay for callers.
    this.#missing = Math.min(this.#missing + 1, 2 * Math.max(this.#size, 1));
  }

  waitMs(now: number): number {
    this.#refill(now);
    return ((this.#missing + 1 - this.#size) / (this.#refillPerSecond || this.#perSecond)) * 1_000;
  }

  get #refillPerSecond(): number {
    return this.lease === undefined ? this.#perSecond : (this.#perSecond * this.#size) / this.#burst;
  }

  #refill(now: number): void {
    const elapsedMs = Math.max(0, now - (this.#refilledAt ?? now));
    this.#missing = Math.max(0, this.#missing - (elapsedMs * this.#refillPerSecond) / 1_000);
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
