import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { addUnreported, type Account } from './account.ts';
import type { UtcDate } from './limit-state.ts';

/** What Redis does not know about an account, or may have lost. */
export interface Report {
  /** Units that were charged without Redis; negative: units to give back. */
  readonly debtUnits: number;
  /** Units of the day and of the month that this gateway has counted, without the debt; 0: as stored. */
  readonly dayUsed: number;
  readonly monthUsed: number;
  /** The hash in Redis in which they were counted; empty: not reported. */
  readonly since: string;
  /** Whether buckets are reported too, because Redis may have lost them. */
  readonly isComplete: boolean;
}

export const nothingToReport: Report = { debtUnits: 0, dayUsed: 0, monthUsed: 0, since: '', isComplete: false };

/**
 * Takes the report of an account, which the caller sends or gives back to `debtUnits`. Unused units of its lease are part
 * of it. On a new connection it is complete.
 */
export function takeReport(account: Account, limits: KeyLimits, connection: number, date: UtcDate): Report {
  const { state, lease } = account;
  addUnreported(account, limits, -lease.unusedUnits);
  const debtUnits = account.debtUnits - lease.unusedUnits;
  [account.debtUnits, lease.unusedUnits] = [0, 0];
  const isComplete = account.connection !== connection;
  if (debtUnits === 0 && !isComplete) return nothingToReport;
  return {
    debtUnits,
    dayUsed: isComplete && state.day === date.day ? Math.max(0, state.dayUsed - debtUnits) : 0,
    monthUsed: isComplete && state.month === date.month ? Math.max(0, state.monthUsed - debtUnits) : 0,
    since: isComplete ? account.since : '',
    isComplete,
  };
}
