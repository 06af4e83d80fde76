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
  sumOf,
  take,
  deltaOf,
  unitsFor,
  usedOf,
  type Charge,
  type Deltas,
  type LimitState,
  type Moment,
  type Shortage,
  type Sums,
} from './limit-state.ts';
import type { SharedSums } from './shared-sums.ts';
import { currentMoment } from './utc-date.ts';

/** Interval at which a process exchanges the sums of accounts that it counts by itself. */
export const EXCHANGE_MS = 100;
/** A process counts by itself for this time after an exchange: what others use in it is estimated by the second before. */
const KNOWN_MS = 1_000;
/** Parts of what is left that a process takes by itself between two exchanges. A quota below 100 is exact. */
const MAX_QUOTA_PART = 1 / 100;
const MAX_BURST_PART = 1 / 16;
const SECOND_MS = 1_000;
const NO_CONNECTION = -1;

/** Outcome of one charge. */
export interface ChargeOutcome {
  /** Shortage; undefined if the charge was taken. */
  readonly shortage: Shortage | undefined;
  readonly allowance: Allowance | undefined;
}

export interface WaitingCharge {
  readonly limits: KeyLimits;
  readonly charge: Charge;
  readonly decide: (outcome: ChargeOutcome) => void;
}

/** Units of one account, as this process knows them. */
export class AccountUnits {
  readonly id: string;
  /** The sums of the last exchange, and what this process has taken since. */
  readonly state: LimitState = newLimitState();
  /** The limits of the last charge. */
  limits: KeyLimits | undefined;
  /** Whether any charge had a quota. The keys of a team may have different limits. */
  hasQuota = false;
  /** Units per second of all buckets that were charged, by method. */
  readonly #rates = new Map<string, number>();
  /** What this process has taken and not sent yet. */
  unsent: Deltas = newDeltas();
  /** What the exchange in progress adds, if the sums allow it. */
  inFlight: Deltas = newDeltas();
  /** Charges of the next exchange: fewer after one in which the sums did not allow all. */
  maxCharges = Infinity;
  waiting: WaitingCharge[] = [];
  isExchanging = false;
  /** The connection of the last exchange: a later one may be to a Redis that lost data. */
  connection = NO_CONNECTION;
  /** When the sums of the last exchange arrived, by clock.now(). */
  #confirmedAt = -Infinity;
  /** Day of the last exchange, and the sum of its units. */
  #day = '';
  #dayUsed = 0;
  /** Units that all processes used in the second from `since` on, and in the one before. */
  readonly #used = { since: -Infinity, current: 0, previous: 0 };

  constructor(id: string) {
    this.id = id;
  }

  /** Uses the limits of a key from now on. */
  setLimits(limits: KeyLimits): void {
    if (this.limits === limits) return;
    this.limits = limits;
    this.hasQuota ||= limits.daily !== undefined || limits.monthly !== undefined;
    for (const { reason, method, perSecond } of limitsOf(limits))
      if (reason === 'rate-limit') this.#rates.set(method, perSecond);
  }

  /** Whether the store may have lost what was added before. */
  mayBeLost({ connection }: SharedSums): boolean {
    return this.connection !== connection && this.connection !== NO_CONNECTION;
  }

  /** Whether the sums are those of an exchange not long ago. */
  isKnown({ connection }: SharedSums, now: number): boolean {
    return this.connection === connection && now - this.#confirmedAt < KNOWN_MS;
  }

  /** Whether a charge is so far from each limit that this process may take it by itself. */
  isFar(limits: KeyLimits, charge: Charge, now: number): boolean {
    const { since, current, previous } = this.#used;
    const own = [this.unsent, this.inFlight] as const;
    const inLastSecond =
      current + previous * Math.max(0, 1 - (now - since) / SECOND_MS) + own[0].monthUsed + own[1].monthUsed;
    return limitsOf(limits).every((limit) => {
      const units = unitsFor(limit, charge);
      if (units === 0) return true;
      const left = limit.size - usedOf(this.state, limit, now) - units;
      const maxTaken =
        limit.reason === 'rate-limit'
          ? Math.min(left * MAX_BURST_PART, (limit.perSecond * EXCHANGE_MS) / SECOND_MS)
          : left * MAX_QUOTA_PART;
      return left > inLastSecond && deltaOf(own[0], limit) + deltaOf(own[1], limit) + units <= maxTaken;
    });
  }

  /** Takes a charge from the sums that this process knows, if the limits allow it. */
  take(limits: KeyLimits, charge: Charge): ChargeOutcome {
    const moment = currentMoment();
    const shortage = shortageOf(this.state, limits, charge, moment);
    if (shortage === undefined) take(this.state, limits, charge, moment);
    return { shortage, allowance: shortage?.allowance ?? allowanceOf(this.state, limits, charge, moment) };
  }

  /**
   * What was not sent, with all buckets. One was counted without the store for longer than an interval if that was unavailable:
   * what has returned since is left out.
   */
  cappedUnsent({ now, date }: Moment): Deltas {
    const sum = sumOf(this.noUnits(), this.unsent, date);
    for (const [method, { units, perSecond }] of sum.buckets) {
      const max = Math.max(missingUnits(this.state, { method, perSecond }, now), (perSecond * EXCHANGE_MS) / SECOND_MS);
      sum.buckets.set(method, { units: Math.min(units, max), perSecond });
    }
    return sum;
  }

  /** No units, for all buckets. */
  noUnits(): Deltas {
    return newDeltas(this.#rates);
  }

  /**
   * Replaces the sums by those of an exchange.
   * @param units those of the exchange
   * @param sentAt the time of the sums: so no bucket seems to lack more than it does
   */
  confirm(sums: Sums, units: number, connection: number, sentAt: number): void {
    const used = this.#used;
    if (sentAt - used.since >= SECOND_MS) {
      used.previous = sentAt - used.since < 2 * SECOND_MS ? used.current : 0;
      [used.since, used.current] = [sentAt, 0];
    }
    used.current += sums.day === this.#day ? Math.max(0, sums.dayUsed - this.#dayUsed) : units;
    [this.#day, this.#dayUsed] = [sums.day, sums.dayUsed];
    [this.connection, this.#confirmedAt] = [connection, clock.now()];
    setSums(this.state, sums, sentAt);
  }
}
