import type { AuditReport } from './audit-report.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';

/** `off`: there is no cache. `not-cacheable`: never cached. `coalesced`: joined an identical call in progress. */
export type CacheOutcome = 'hit' | 'miss' | 'coalesced' | 'not-cacheable' | 'off';

/** Receives the events of one call, or of a part of it, while it is sent to upstreams. */
export interface AttemptObserver {
  /** Gets the skip reasons of all upstreams before the first attempt. Otherwise only of those before the selected one. */
  readonly needsAllSkipReasons: boolean;
  skipped(upstream: string, reason: SkipReason): void;
  /** An attempt begins. @returns called at its end with `response`, a failure class, or `cancelled` */
  attemptStarted(upstream: string, isHedge: boolean): (outcome: string) => void;
  /** A retry or hedge was not made, because the retry budget of the network is used up. */
  budgetExceeded(what: 'retry' | 'hedge'): void;
  /** Outcome of the cache lookup. Not called for methods that Gatehouse handles without upstreams. */
  cached(outcome: CacheOutcome): void;
  /** An audit of the call has begun. Undefined: only a share of the calls is audited. @param ended its report */
  readonly audited?: ((ended: Promise<AuditReport | undefined>) => void) | undefined;
}

/** Receives the events of one call, from the cache lookup to the response. */
export interface CallObserver extends AttemptObserver {
  /** A part of the range of blocks begins. */
  partStarted(from: number, to: number): PartObserver;
  /** The call has its response. @param code of the JSON-RPC error; undefined: no error */
  ended(outcome: string, code: number | undefined, requestUnits: number): void;
}

/** Receives the events of one part of a range. */
export interface PartObserver extends AttemptObserver {
  /**
   * @param outcome `result`, the reason of a rejection, `upstream-error`, `cancelled`, or `too-large:` with the limit that
   * splits the part
   * @param results length of its list
   */
  ended(outcome: string, results: number | undefined): void;
}

/** Creates the observer of each call of one request. */
export interface CallObserverFactory {
  /** @param id of the call as JSON text; undefined: a notification */
  begin(method: string, network: string, id: string | undefined): CallObserver;
  /** A limit of the key rejects a call, which would cost `requestUnits`. Undefined: such calls are not observed. */
  limited?(method: string, outcome: string, requestUnits: number, limit: string): void;
}
