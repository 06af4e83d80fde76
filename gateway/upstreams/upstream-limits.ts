import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import { noLimits, rateOf, type KeyLimits } from '../auth/permissions/key-limits.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { UpstreamLimitsConfig } from '../network-files/network-config.ts';

const MIN_WAIT_MS = 100;

/** The charge of one request. */
const oneRequest = { units: 1, byMethod: new Map<string, number>() };

/** Rates that all processes count together: `Limiter` of limits/. */
export interface RequestLimiter {
  /** Takes a charge, or reports the limit that rejects it. The promise never rejects. */
  charge(limits: KeyLimits, charge: typeof oneRequest): RateOutcome | Promise<RateOutcome>;
  /** Takes a charge without checking the limits. */
  take(limits: KeyLimits, charge: typeof oneRequest): void;
  /** Time until the rate has a unit, as far as this process knows, in ms. */
  waitMs(limits: KeyLimits): number;
}

interface RateOutcome {
  /** The limit that rejects the charge; undefined: it is taken. */
  readonly shortage: object | undefined;
}

/** Parts with which processes share the limits of an upstream. */
export interface SharedLimits {
  /** Name of the upstream, unique among all networks. */
  readonly name: string;
  /** Limiter of the requests of all workers and gateways. */
  readonly limiter: RequestLimiter;
  /** Leases of the requests in flight of all workers and gateways; undefined: this is the only one. */
  readonly leases: SlotLeases | undefined;
}

/**
 * Limits the request rate and concurrency of one upstream to its plan. Requests that the gateway itself makes, such as
 * polls, also count for the rate but are never rejected.
 */
export class UpstreamLimits {
  readonly #rate: RequestRate | undefined;
  readonly #requests: RequestSlots | undefined;

  constructor({ perSecond, burst, concurrency }: UpstreamLimitsConfig, { name, limiter, leases }: SharedLimits) {
    if (perSecond !== undefined) this.#rate = new RequestRate(name, limiter, perSecond, burst);
    if (concurrency !== undefined) this.#requests = new RequestSlots(name, leases, concurrency);
  }

  /** Whether a request may be sent, as far as this process knows. Without a slot, those of other workers are requested. */
  hasCapacity(): boolean {
    return this.mayAdmit() && this.#hasSlot;
  }

  /** Whether `admit` may permit a request: the upstream has capacity, or slots of other workers are requested. */
  mayAdmit(): boolean {
    return this.#rateWaitMs === 0 && (this.#hasSlot || this.#requests?.lease?.requestMore() !== undefined);
  }

  /**
   * Takes a slot, of other workers if there is none here, and then a unit of the rate. `endRequest` or `giveBack` must follow.
   * The promise never rejects.
   */
  admit(): boolean | Promise<boolean> {
    if (!this.#hasSlot) return this.#admitLater();
    this.#requests?.take();
    const outcome = this.#rate?.admit() ?? true;
    return outcome instanceof Promise
      ? outcome.then((isAdmitted) => this.#decided(isAdmitted))
      : this.#decided(outcome);
  }

  /** Ends an admitted request that is not sent. */
  giveBack(): void {
    this.#rate?.giveBack();
    this.endRequest();
  }

  /** Begins a request without admission. */
  beginRequest(): void {
    this.#rate?.take();
    this.#requests?.take();
  }

  endRequest(): void {
    this.#requests?.release();
  }

  /** Time, estimated, until the upstream has capacity. */
  get waitMs(): number {
    return Math.max(MIN_WAIT_MS, this.#rateWaitMs);
  }

  /** Returns what it has to the other workers. */
  close(): void {
    this.#requests?.lease?.close();
  }

  get #hasSlot(): boolean {
    return this.#requests?.isFull !== true;
  }

  get #rateWaitMs(): number {
    return this.#rate?.waitMs ?? 0;
  }

  #decided(isAdmitted: boolean): boolean {
    if (!isAdmitted) this.endRequest();
    return isAdmitted;
  }

  async #admitLater(): Promise<boolean> {
    await this.#requests?.requestMore();
    return this.#hasSlot && this.admit();
  }
}

/** Rate of the requests of all processes: an account of the limiter. */
class RequestRate {
  readonly #limiter: RequestLimiter;
  readonly #limits: KeyLimits;
  /** Time in which a unit returns. */
  readonly #unitMs: number;
  readonly #maxWaitMs: number;
  /** Units of requests that were not sent, for the next ones. */
  #returned = 0;
  /** Time, by clock.now(), from which the bucket may have them again: then they would count twice. */
  #returnedUntil = -Infinity;

  constructor(name: string, limiter: RequestLimiter, perSecond: number, burst = Math.max(1, perSecond)) {
    this.#limiter = limiter;
    this.#limits = { ...noLimits(`upstream:${name}`), isCharged: true, rate: rateOf(perSecond, burst) };
    this.#unitMs = 1_000 / perSecond;
    this.#maxWaitMs = burst * this.#unitMs;
  }

  get waitMs(): number {
    return this.#hasReturned ? 0 : this.#limiter.waitMs(this.#limits);
  }

  admit(): boolean | Promise<boolean> {
    if (this.#hasReturned) {
      this.#returned--;
      return true;
    }
    const outcome = this.#limiter.charge(this.#limits, oneRequest);
    return outcome instanceof Promise
      ? outcome.then(({ shortage }) => shortage === undefined)
      : outcome.shortage === undefined;
  }

  giveBack(): void {
    this.#returned = this.#hasReturned ? this.#returned + 1 : 1;
    this.#returnedUntil = clock.now() + this.#unitMs;
  }

  /** Requests that were not admitted, such as polls, exceed the rate by one burst at most: that bounds the delay for callers. */
  take(): void {
    if (this.#limiter.waitMs(this.#limits) <= this.#maxWaitMs) this.#limiter.take(this.#limits, oneRequest);
  }

  get #hasReturned(): boolean {
    return this.#returned > 0 && clock.now() < this.#returnedUntil;
  }
}

/** Requests in flight. */
class RequestSlots implements SlotPool {
  size: number;
  inFlight = 0;
  /** Calls that wait for slots of other workers. */
  waiting = 0;
  readonly lease: SlotLease | undefined;

  constructor(name: string, leases: SlotLeases | undefined, limit: number) {
    this.size = leases === undefined ? limit : 0;
    this.lease = leases?.open(`upstream:${name}:concurrency`, limit, this);
    this.lease?.setLimit(limit, true);
  }

  get isFull(): boolean {
    return this.inFlight >= this.size;
  }

  /** Resolves when other workers have returned what they do not use. */
  async requestMore(): Promise<void> {
    this.waiting++;
    await this.lease?.requestMore();
    this.waiting--;
  }

  take(): void {
    this.inFlight++;
  }

  release(): void {
    this.inFlight--;
    this.lease?.requestEnded();
  }
}

/** All upstreams are at their `limits`. Other calls are overloaded because of the gateway's own bounds. */
export class UpstreamsAtLimit extends RpcError {
  constructor(waitMs: number) {
    const retryAfterS = Math.ceil(waitMs / 1_000);
    super('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
  }
}
