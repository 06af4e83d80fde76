import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { MessageRouter } from '../workers/message-router.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { ChargeRequest, ChargeResult, ChargeStore } from './charge-store.ts';
import {
  limitsOf,
  missingUnits,
  newLimitState,
  setMissing,
  shortageOf,
  take,
  type Charge,
  type Limit,
  type LimitState,
} from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. A dropped account starts unused. */
const MAX_ACCOUNTS = 100_000;
/** A lease is granted only if so many times its units are available. */
const MIN_LEASES_AVAILABLE = 4;

const TOPIC = 'charge';
const PERIODS_TOPIC = 'periods';
const noMethods: ReadonlyMap<string, number> = new Map();

interface ChargeMessage {
  readonly limits: KeyLimits;
  readonly charges: readonly Charge[];
  /** Negative: units of an earlier lease that were not used. */
  readonly debtUnits: number;
  readonly leaseUnits: number;
  readonly leaseMs: number;
}

interface ChargeResponse {
  readonly taken: readonly boolean[];
  readonly leasedUnits: number;
  readonly state: LimitState;
}

/** Counts the charges of all workers of one machine, in its primary: what the Redis script does, in memory. */
export class MachineCharges {
  readonly #states = new LRUCache<string, LimitState>(maxEntries(MAX_ACCOUNTS));

  /** Serves the requests of workers. */
  serve(router: MessageRouter): void {
    router.on(TOPIC, (message: ChargeMessage) => this.charge(message));
    router.on(PERIODS_TOPIC, (account: string) => this.#states.get(account) ?? newLimitState());
  }

  charge({ limits, charges, debtUnits, leaseUnits, leaseMs }: ChargeMessage): ChargeResponse {
    const now = clock.now();
    const date = utcDate();
    const state = this.#stateOf(limits.account);
    if (debtUnits !== 0) take(state, limits, { units: debtUnits, byMethod: noMethods }, now, date);
    const taken = charges.map((charge) => {
      const isTaken = shortageOf(state, limits, charge, now, date) === undefined;
      if (isTaken) take(state, limits, charge, now, date);
      return isTaken;
    });
    const leasedUnits = this.#lease(state, limits, leaseUnits, leaseMs, now);
    if (leasedUnits > 0) take(state, limits, { units: leasedUnits, byMethod: noMethods }, now, date);
    const rates = limitsOf(limits).filter(({ reason }) => reason === 'rate-limit');
    const buckets = new Map(
      rates.map((limit) => [limit.method, { missing: missingUnits(state, limit, now), at: now }] as const),
    );
    return { taken, leasedUnits, state: { ...state, buckets } };
  }

  /**
   * Units used at the end of a lease could coincide with units that returned meanwhile. So a lease is charged as of its end.
   * @returns the granted units
   */
  #lease(state: LimitState, limits: KeyLimits, units: number, leaseMs: number, now: number): number {
    if (units === 0) return 0;
    const usedAtEnd = limitsOf(limits).map((limit) => ({ limit, used: usedAtEndOf(state, limit, leaseMs, now) }));
    if (usedAtEnd.some(({ limit, used }) => used + MIN_LEASES_AVAILABLE * units > limit.size)) return 0;
    for (const { limit, used } of usedAtEnd)
      if (limit.reason === 'rate-limit') setMissing(state, limit.method, used, now);
    return units;
  }

  #stateOf(account: string): LimitState {
    let state = this.#states.get(account);
    if (state === undefined) this.#states.set(account, (state = newLimitState()));
    return state;
  }
}

function usedAtEndOf(state: LimitState, limit: Limit, leaseMs: number, now: number): number {
  if (limit.reason === 'daily-quota') return state.dayUsed;
  if (limit.reason === 'monthly-quota') return state.monthUsed;
  return Math.max(missingUnits(state, limit, now), (limit.perSecond * leaseMs) / 1000);
}

/** Charges at the primary, from one of its workers. The end of the primary ends the worker. */
export class MachineChargeStore implements ChargeStore {
  readonly kind = 'primary';
  readonly isUp = true;
  readonly connection = 1;
  readonly #link: WorkerLink;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  async charge(limits: KeyLimits, charges: readonly Charge[], request: ChargeRequest): Promise<ChargeResult> {
    const { state, report, leaseUnits, leaseMs, sentAt } = request;
    const { debtUnits } = report;
    const message: ChargeMessage = { limits, charges, debtUnits, leaseUnits, leaseMs };
    const {
      taken,
      leasedUnits,
      state: counted,
    } = (await this.#link.request('primary', TOPIC, message)) as ChargeResponse;
    const { buckets, ...periods } = counted;
    Object.assign(state, periods);
    for (const [method, { missing }] of buckets) setMissing(state, method, missing, sentAt);
    return { taken, leasedUnits, since: '' };
  }

  async readPeriods(account: string): Promise<LimitState> {
    return (await this.#link.request('primary', PERIODS_TOPIC, account)) as LimitState;
  }

  reportFailure(error: unknown): unknown {
    return error;
  }

  waitUntilUp(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
