import type { KeyLimits } from '../auth/key-access.ts';
import {
  allowanceOf,
  newLimitState,
  shortageOf,
  take,
  type Allowance,
  type Charge,
  type Shortage,
  type LimitState,
} from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/** How long a lease is good for. So much of a bucket stays unused meanwhile; see `charge-script.ts`. */
export const leaseMs = 50;
/** Smaller ones are not worth it. */
const minLease = 8;

export interface ChargeOutcome {
  /** Undefined: nothing was refused. */
  readonly shortage: Shortage | undefined;
  readonly allowance: Allowance | undefined;
}

/** What a gateway knows of an account. */
export interface Account {
  /** With Redis: what it last said, and what was taken since while it was away. */
  readonly state: LimitState;
  /** When Redis last said it. */
  confirmedAt: number;
  /** Taken while Redis was away, and not told to it yet. */
  owed: number;
  /** What was taken in advance and not used yet. */
  readonly lease: { left: number; deadline: number; limits: KeyLimits | undefined };
  /** Weight that was let through since then, and in the time of a lease before. */
  used: number;
  countedFrom: number;
  demand: number;
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
    confirmedAt: -Infinity,
    owed: 0,
    lease: { left: 0, deadline: 0, limits: undefined },
    used: 0,
    countedFrom: 0,
    demand: 0,
    waiting: [],
    isCharging: false,
  };
}

/** As much as was used lately in the time that a lease lasts. */
export function leaseFor(account: Account, now: number): number {
  const elapsed = now - account.countedFrom;
  if (elapsed >= leaseMs) {
    account.demand = Math.floor((account.used * leaseMs) / elapsed);
    [account.used, account.countedFrom] = [0, now];
  }
  return account.demand < minLease ? 0 : account.demand;
}

export function takeFrom({ state }: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
  const now = performance.now();
  const date = utcDate();
  const shortage = shortageOf(state, limits, charge, now, date);
  if (shortage === undefined) take(state, limits, charge, now, date);
  return { shortage, allowance: allowanceOf(state, limits, now, date) };
}
