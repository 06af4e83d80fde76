import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { Charge, LimitState, UtcDate } from './limit-state.ts';
import type { Report } from './report.ts';

/** One round trip: charges of one account, and its report. */
export interface ChargeRequest {
  /** As of `sentAt`, so it never shows a bucket emptier than it is. The store updates it. */
  readonly state: LimitState;
  /** Whether the account has a quota, also if the limits of these charges have none. */
  readonly hasQuota: boolean;
  readonly report: Report;
  /** Units to reserve in advance; only for limits without `methodRates`. */
  readonly leaseUnits: number;
  readonly leaseMs: number;
  readonly date: UtcDate;
  /** By clock.now(). */
  readonly sentAt: number;
}

export interface ChargeResult {
  /** Of each charge, whether it was taken. */
  readonly taken: readonly boolean[];
  readonly leasedUnits: number;
  /** Identifies what the account was counted in: the store may lose it. */
  readonly since: string;
}

/** Counts the charges of several limiters together: Redis, or the primary of the workers. */
export interface ChargeStore {
  readonly kind: 'redis' | 'primary';
  readonly isUp: boolean;
  /** Another number after each new connection: the store may have lost data. */
  readonly connection: number;
  /** Rejects if the store does not respond in time. */
  charge(limits: KeyLimits, charges: readonly Charge[], request: ChargeRequest): Promise<ChargeResult>;
  /** The units that an account has used today and this month; its buckets are not read. Rejects as `charge`. */
  readPeriods(account: string): Promise<LimitState>;
  /** @returns the error to log */
  reportFailure(error: unknown): unknown;
  waitUntilUp(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}
