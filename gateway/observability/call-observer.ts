/** Why an upstream was not asked. */
export type SkipReason =
  'circuit-open' | 'at-limit' | 'behind' | 'missing-block' | 'unsupported-method' | 'other-chain';

/** `off`: there is no cache. `not-kept`: such answers never are. `shared`: another call asked the same just then. */
export type CacheOutcome = 'hit' | 'miss' | 'coalesced' | 'not-cacheable' | 'off';

/** Somebody who wants to know how a call came to its answer. */
export interface CallObserver {
  skipped(upstream: string, reason: SkipReason): void;
  /** An attempt begins. @returns to be called at its end: `reply`, a class of failure, or `cancelled` */
  attemptStarted(upstream: string, isHedge: boolean): (outcome: string) => void;
  /** It was not made, since the network's budget is used up. */
  budgetExceeded(what: 'retry' | 'hedge'): void;
  /** What became of the look for an answer that was kept. Not told where there is nothing to ask anybody. */
  cached(outcome: CacheOutcome): void;
  /** It is answered. @param code of the error, where it is answered with one */
  ended(outcome: string, code: number | undefined): void;
}

/** Somebody who wants to know that of all calls that were sent together. */
export interface CallObserverFactory {
  /** @param id as JSON text; undefined: a notification */
  begin(method: string, network: string, id: string | undefined): CallObserver;
}
