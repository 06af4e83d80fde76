import type { KeyLimits } from '../keys/key-access.ts';
import {
  allowanceOf,
  emptyTally,
  shortageOf,
  take,
  type Allowance,
  type Charge,
  type Shortage,
  type Tally,
} from './tally.ts';
import { utcDate } from './utc-date.ts';

/** How long a lease is good for. So much of a bucket stays unused meanwhile; see `charge-script.ts`. */
export const leaseMs = 50;
/** Smaller ones are not worth it. */
const leaseMin = 8;

export interface Verdict {
  /** Undefined: nothing was refused. */
  readonly shortage: Shortage | undefined;
  readonly allowance: Allowance | undefined;
}

/** What a gateway knows of an account. */
export interface Account {
  /** With Redis: what it last said, and what was taken since while it was away. */
  readonly tally: Tally;
  /** When Redis last said it. */
  saidAt: number;
  /** Taken while Redis was away, and not told to it yet. */
  owed: number;
  /** What was taken in advance and not used yet. */
  readonly lease: { left: number; until: number; limits: KeyLimits | undefined };
  /** Weight that was let through since Redis was last asked, and when that was. */
  used: number;
  askedAt: number;
  waiting: Waiting[];
  isAsking: boolean;
}

export interface Waiting {
  readonly limits: KeyLimits;
  readonly charge: Charge;
  readonly decide: (verdict: Verdict) => void;
}

export function newAccount(): Account {
  return {
    tally: emptyTally(),
    saidAt: -Infinity,
    owed: 0,
    lease: { left: 0, until: 0, limits: undefined },
    used: 0,
    askedAt: -Infinity,
    waiting: [],
    isAsking: false,
  };
}

/** As much as was used lately in the time that a lease lasts, and no more than twice what was used since the last. */
export function leaseFor({ used, askedAt }: Account, now: number): number {
  const weight = Math.floor(Math.min((used * leaseMs) / Math.max(1, now - askedAt), 2 * used));
  return weight < leaseMin ? 0 : weight;
}

export function takeFrom({ tally }: Account, limits: KeyLimits, charge: Charge): Verdict {
  const now = performance.now();
  const date = utcDate();
  const shortage = shortageOf(tally, limits, charge, now, date);
  if (shortage === undefined) take(tally, limits, charge, now, date);
  return { shortage, allowance: allowanceOf(tally, limits, now, date) };
}
