import { areChargedAlike, type KeyLimits } from '../auth/permissions/key-limits.ts';
import type { Allowance } from '../jsonrpc/errors.ts';
import {
  allowanceOf,
  newLimitState,
  shortageOf,
  take,
  type Charge,
  type Shortage,
  type LimitState,
} from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/**
 * Validity of a lease. While it is valid, this part of a bucket stays unused; see `charge-script.ts`. Without leases, a call
 * of a busy key costs the gateway 18 % more CPU with 64 connections, 40 % with 4 and 63 % with one (2026-11-24).
 */
export const LEASE_MS = 50;
/** A smaller lease saves too few round trips. */
const MIN_LEASE_UNITS = 8;

/** Outcome of one charge. */
export interface ChargeOutcome {
  /** Undefined if the charge was taken. */
  readonly shortage: Shortage | undefined;
  readonly allowance: Allowance | undefined;
}

/** State of one account in this gateway. */
export interface Account {
  /** With Redis: its last response, plus `debtUnits`. */
  readonly state: LimitState;
  /** The limits of the last charge. */
  limits: KeyLimits | undefined;
  /** Whether any charge had a quota. The keys of a team may have different limits. */
  hasQuota: boolean;
  /** When Redis was sent the last request that it responded to, on the clock of performance.now(). */
  confirmedAt: number;
  /** The connection to Redis that had the last response: a later one may be to a Redis that lost data. */
  connection: number;
  /** Identifies the hash of the last response. */
  since: string;
  /** Units charged while Redis was unavailable, and not reported to it yet. */
  debtUnits: number;
  /** Units that were reserved in advance. `limits`: those that Redis checked. */
  readonly lease: { unusedUnits: number; deadline: number; limits: KeyLimits | undefined };
  /** Units that were charged since `usedSince`. */
  usedUnits: number;
  usedSince: number;
  /** Units that were charged lately in the time of one lease. */
  demandUnits: number;
  waiting: WaitingCharge[];
  isCharging: boolean;
}

export interface WaitingCharge {
  readonly limits: KeyLimits;
  readonly charge: Charge;
  readonly decide: (outcome: ChargeOutcome) => void;
}

export function newAccount(): Account {
  return {
    state: newLimitState(),
    limits: undefined,
    hasQuota: false,
    confirmedAt: -Infinity,
    connection: -1,
    since: '',
    debtUnits: 0,
    lease: { unusedUnits: 0, deadline: 0, limits: undefined },
    usedUnits: 0,
    usedSince: 0,
    demandUnits: 0,
    waiting: [],
    isCharging: false,
  };
}

/** Units for the next lease: as many as were used lately in the time of one lease. */
export function leaseFor(account: Account, now: number): number {
  const elapsed = now - account.usedSince;
  if (elapsed >= LEASE_MS) {
    account.demandUnits = Math.floor((account.usedUnits * LEASE_MS) / elapsed);
    [account.usedUnits, account.usedSince] = [0, now];
  }
  return account.demandUnits < MIN_LEASE_UNITS ? 0 : account.demandUnits;
}

const noMethods: ReadonlyMap<string, number> = new Map();

/** Adds units to the state without checking the limits, and without methods: of a lease, and of charges not reported. */
export function addUnreported({ state }: Account, limits: KeyLimits, units: number): void {
  if (units !== 0) take(state, limits, { units, byMethod: noMethods }, performance.now(), utcDate());
}

/** Takes a charge from the state in memory, if the limits allow it. */
export function takeFrom({ state }: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
  const now = performance.now();
  const date = utcDate();
  const shortage = shortageOf(state, limits, charge, now, date);
  if (shortage === undefined) take(state, limits, charge, now, date);
  return { shortage, allowance: shortage?.allowance ?? allowanceOf(state, limits, charge, now, date) };
}

/** The number of charges with the limits of the first one: those of the keys of a team may differ. */
export function chargedAlike(waiting: readonly WaitingCharge[]): number {
  const [first] = waiting;
  const end = waiting.findIndex(({ limits }) => first !== undefined && !areChargedAlike(first.limits, limits));
  return end === -1 ? waiting.length : end;
}
