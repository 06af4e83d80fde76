import type { CallObserver, CallObserverFactory } from './call-observer.ts';

/** Two who want to know how calls come to their answers. */
export function combineObservers(one: CallObserverFactory, other: CallObserverFactory): CallObserverFactory {
  return { begin: (...call) => combineCallObservers(one.begin(...call), other.begin(...call)) };
}

function combineCallObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    skipped: (...given) => {
      one.skipped(...given);
      other.skipped(...given);
    },
    attemptStarted: (...given) => {
      const ends = [one.attemptStarted(...given), other.attemptStarted(...given)];
      return (outcome) => {
        for (const end of ends) end(outcome);
      };
    },
    budgetExceeded: (what) => {
      one.budgetExceeded(what);
      other.budgetExceeded(what);
    },
    cached: (verdict) => {
      one.cached(verdict);
      other.cached(verdict);
    },
    ended: (...given) => {
      one.ended(...given);
      other.ended(...given);
    },
  };
}
