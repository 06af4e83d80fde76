import type { SlotLeases } from '../admission/slot-lease.ts';
import type { RedisLink } from '../redis/link.ts';
import type { ConditionalDeltas, Deltas, KnownSums, Sums, UtcDate } from './limit-state.ts';

/** What one exchange adds to the sums of an account. */
export interface Addition {
  readonly account: string;
  /** Deltas with all buckets of the account. */
  readonly deltas: Deltas;
  /** What is added after the deltas, if the sums with these allow it. */
  readonly conditional?: ConditionalDeltas | undefined;
  /** Whether the sums of its periods must last as long as these. */
  readonly hasQuota: boolean;
  /** The sums before are at least these: a store may have lost data. Undefined: they are as stored. */
  readonly least?: KnownSums | undefined;
  readonly date: UtcDate;
}

/** State of the store that has the sums. */
export interface SumsState {
  readonly isUp: boolean;
  /** Number of the connection, another one after each new connection: the store may have lost data. */
  readonly connection: number;
}

/** The sums that several processes share, in Redis or in the primary of the workers. It decides nothing. */
export interface SharedSums extends SumsState {
  readonly kind: 'redis' | 'primary';
  /** Whether accounts without a quota are added for all workers, also while the store is unavailable. */
  readonly addsRates?: boolean;
  /**
   * Adds, and returns the new sums of the periods and of the given buckets.
   * @throws StoreUnreachable if the store rejects it or does not respond in time (rejects with it)
   */
  add(addition: Addition): Promise<Sums>;
  /** Leases of slots that all gateways have together; undefined: only the primary has them. */
  readonly slots?: SlotLeases;
  /** Connection to a store that may be unavailable. */
  readonly link?: Pick<RedisLink, 'close'> & { waitUntilUp(timeoutMs: number): Promise<unknown> };
}
