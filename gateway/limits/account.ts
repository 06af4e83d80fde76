import { clock } from '../clock/clock.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { Allowance } from '../jsonrpc/errors.ts';
import {
  allowanceOf,
  limitsOf,
  missingUnits,
  newDeltas,
  newLimitState,
  setSums,
  shortageOf,
  take,
  unitsFor,
  usedOf,
  type Charge,
  type Deltas,
  type LimitState,
  type Shortage,
  type Sums,
} from './limit-state.ts';
import type { SharedSums } from './shared-sums.ts';
import { utcDate } from './utc-date.ts';

/** Interval at which a process exchanges the sums of accounts that it counts by itself. */
export const EXCHANGE_MS = 100;
/** A process counts by itself for this time after an exchange: one interval, and the way to Redis. */
const KNOWN_MS = 2 * EXCHANGE_MS;
/** Parts of what is left that a process takes by itself between two exchanges. A quota below 100 is exact. */
const MAX_QUOTA_PART = 1 / 100;
const MAX_BURST_PART = 1 / 16;
const SECOND_MS = 1_000;
const NO_CONNECTION = -1;

/** Outcome of one charge. */
export interface ChargeOutcome {
  /** Undefined if the charge was taken. */
  readonly shortage: Shortage | undefined;
  readonly allowance: Allowance | undefined;
}

export interface WaitingCharge {
  readonly limits: KeyLimits;
  readonly charge: Charge;
  readonly decide: (outcome: ChargeOutcome) => void;
}

/** State of one account in this process. */
export class Account {
  readonly id: string;
  /** The sums of the last exchange, and what this process has taken since. */
  readonly state: LimitState = newLimitState();
  /** The limits of the last charge. */
  limits: KeyLimits | undefined;
  /** Whether any charge had a quota. The keys of a team may have different limits. */
  hasQuota = false;
  /** What this process has taken, or gives back, and has not sent yet. */
  unsent: Deltas = newDeltas();
  waiting: WaitingCharge[] = [];
  isExchanging = false;
  /** The connection of the last exchange: a later one may be to a Redis that lost data. */
  connection = NO_CONNECTION;
  /** When the last exchange was sent, by clock.now(). */
  #confirmedAt = -Infinity;
  /** Day of the last exchange, and the sum of its units. */
  #day = '';
  #dayUsed = 0;
  /** Units that all processes used in the second from `since` on, and in the one before. */
  readonly #used = { since: -Infinity, current: 0, previous: 0 };

  constructor(id: string) {
    this.id = id;
  }

  /** Whether the store may have lost what was added before. */
  mayBeLost({ connection }: SharedSums): boolean {
    return this.connection !== connection && this.connection !== NO_CONNECTION;
  }

  /** Whether the sums are those of an exchange not long ago. */
  isKnown({ connection }: SharedSums, now: number): boolean {
    return this.connection === connection && now - this.#confirmedAt < KNOWN_MS;
  }

  /**
   * Whether a charge is so far from each limit that this process may take it by itself.
   * @param own what it has taken by itself
   */
  isFar(limits: KeyLimits, charge: Charge, now: number, own = this.unsent): boolean {
    const { since, current, previous } = this.#used;
    const inLastSecond = current + previous * Math.max(0, 1 - (now - since) / SECOND_MS) + own.units;
    return limitsOf(limits).every((limit) => {
      const units = unitsFor(limit, charge);
      if (units === 0) return true;
      const left = limit.size - usedOf(this.state, limit, now) - units;
      const isRate = limit.reason === 'rate-limit';
      const taken = isRate ? (own.buckets.get(limit.method)?.units ?? 0) : own.units;
      const maxTaken = isRate
        ? Math.min(left * MAX_BURST_PART, (limit.perSecond * EXCHANGE_MS) / SECOND_MS)
        : left * MAX_QUOTA_PART;
      return left > inLastSecond && taken + units <= maxTaken;
    });
  }

  /** Takes a charge from the sums that this process knows, if the limits allow it. */
  take(limits: KeyLimits, charge: Charge): ChargeOutcome {
    const [now, date] = [clock.now(), utcDate()];
    const shortage = shortageOf(this.state, limits, charge, now, date);
    if (shortage === undefined) take(this.state, limits, charge, now, date);
    return { shortage, allowance: shortage?.allowance ?? allowanceOf(this.state, limits, charge, now, date) };
  }

  /**
   * Takes what was not sent. A bucket was counted without the store for longer than an interval if that was unavailable: what has
   * returned since is left out.
   */
  takeUnsent(now: number): Deltas {
    const { units: all, buckets } = this.unsent;
    this.unsent = newDeltas();
    const capped = [...buckets].map(([method, { units, perSecond }]) => {
      const max = Math.max(missingUnits(this.state, { method, perSecond }, now), (perSecond * EXCHANGE_MS) / SECOND_MS);
      return [method, { units: Math.min(units, max), perSecond }] as const;
    });
    return { units: all, buckets: new Map(capped) };
  }

  /** No units, for all buckets. */
  noUnits(): Deltas {
    const rates = this.limits === undefined ? [] : limitsOf(this.limits).filter(({ perSecond }) => perSecond > 0);
    return { units: 0, buckets: new Map(rates.map(({ method, perSecond }) => [method, { units: 0, perSecond }])) };
  }

  /** Replaces the sums by those of an exchange. @param now when it was sent: so no bucket seems to lack more than it does */
  confirm(sums: Sums, units: number, connection: number, now: number): void {
    const used = this.#used;
    if (now - used.since >= SECOND_MS) {
      used.previous = now - used.since < 2 * SECOND_MS ? used.current : 0;
      [used.since, used.current] = [now, 0];
    }
    used.current += sums.day === this.#day ? sums.dayUsed - this.#dayUsed : units;
    [this.#day, this.#dayUsed] = [sums.day, sums.dayUsed];
    [this.connection, this.#confirmedAt] = [connection, now];
    setSums(this.state, sums, now);
  }
}
