import type { AttemptObserver, CallObserver, CallObserverFactory } from './call-observer.ts';

/** Passes every event to two observers. */
export function combineObservers(one: CallObserverFactory, other: CallObserverFactory): CallObserverFactory {
  return {
    begin: (...call) => combineCallObservers(one.begin(...call), other.begin(...call)),
    limited: (...call) => {
      one.limited?.(...call);
      other.limited?.(...call);
    },
  };
}

function combineCallObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    ...combineAttemptObservers(one, other),
    partStarted: (...event) => {
      const [ofOne, ofOther] = [one.partStarted(...event), other.partStarted(...event)];
      return {
        ...combineAttemptObservers(ofOne, ofOther),
        ended: (...end) => {
          ofOne.ended(...end);
          ofOther.ended(...end);
        },
      };
    },
    ended: (...event) => {
      one.ended(...event);
      other.ended(...event);
    },
  };
}

function combineAttemptObservers(one: AttemptObserver, other: AttemptObserver): AttemptObserver {
  return {
    needsAllSkipReasons: one.needsAllSkipReasons || other.needsAllSkipReasons,
    skipped: (...event) => {
      one.skipped(...event);
      other.skipped(...event);
    },
    attemptStarted: (...event) => {
      const ends = [one.attemptStarted(...event), other.attemptStarted(...event)];
      return (outcome) => {
        for (const end of ends) end(outcome);
      };
    },
    budgetExceeded: (what) => {
      one.budgetExceeded(what);
      other.budgetExceeded(what);
    },
    cached: (outcome) => {
      one.cached(outcome);
      other.cached(outcome);
    },
    audited: one.audited ?? other.audited,
  };
}
