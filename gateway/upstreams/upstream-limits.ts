import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
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

/** What an upstream's limits are shared by. */
export interface SharedLimits {
  /** Name of the upstream, unique among all networks. */
  readonly name: string;
  /** Limiter of the requests of all workers and gateways. */
  readonly limiter: RequestLimiter;
  /** Leases of the requests in flight of all workers; undefined: this is the only one. */
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

  /** Whether a request may be sent, as far as this process knows. */
  hasCapacity(): boolean {
    return this.hasSlot && this.#rateWaitMs === 0;
  }

  /** Whether the requests in flight are fewer than the concurrency. */
  get hasSlot(): boolean {
    return this.#requests?.isFull !== true;
  }

  /** Whether `admit` may permit a request: the upstream has capacity, or requests slots that other workers do not use. */
  mayAdmit(): boolean {
    return this.#rateWaitMs === 0 && (this.hasSlot || this.#requests?.lease?.requestMore() !== undefined);
  }

  /**
   * Takes a request of the rate for the next `beginRequest`, and requests a slot of other workers if there is none.
   * @returns undefined: it may begin; else whether it may, when all processes have decided
   */
  admit(): Promise<boolean> | undefined {
    return this.hasSlot ? this.#rate?.admit() : this.#admitLater();
  }

  beginRequest(): void {
    this.#rate?.begin();
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

  get #rateWaitMs(): number {
    return this.#rate?.waitMs ?? 0;
  }

  async #admitLater(): Promise<boolean> {
    await this.#requests?.requestMore();
    return this.hasSlot && (await this.#rate?.admit()) !== false;
  }
}

/** Rate of the requests of all processes: an account of the limiter. */
class RequestRate {
  readonly #limiter: RequestLimiter;
  readonly #limits: KeyLimits;
  readonly #maxWaitMs: number;
  /** Requests that the rate has admitted and that have not begun. */
  #admitted = 0;

  constructor(name: string, limiter: RequestLimiter, perSecond: number, burst = Math.max(1, perSecond)) {
    this.#limiter = limiter;
    this.#limits = { ...noLimits(`upstream:${name}`), isCharged: true, rate: rateOf(perSecond, burst) };
    this.#maxWaitMs = (burst / perSecond) * 1_000;
  }

  get waitMs(): number {
    return this.#limiter.waitMs(this.#limits);
  }

  admit(): Promise<boolean> | undefined {
    const outcome = this.#limiter.charge(this.#limits, oneRequest);
    if (outcome instanceof Promise) return outcome.then((decided) => this.#note(decided));
    return this.#note(outcome) ? undefined : Promise.resolve(false);
  }

  /** Requests that were not admitted, such as polls and lookups of pending counts, exceed the rate by one burst at most: that bounds the delay for callers. */
  begin(): void {
    if (this.#admitted > 0) this.#admitted--;
    else if (this.waitMs <= this.#maxWaitMs) this.#limiter.take(this.#limits, oneRequest);
  }

  #note({ shortage }: RateOutcome): boolean {
    if (shortage === undefined) this.#admitted++;
    return shortage === undefined;
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
