import type { CallObserver, CallWatch } from './asking.ts';

/** Two who want to know how calls come to their answers. */
export function watchBoth(one: CallWatch, other: CallWatch): CallWatch {
  return { begin: (...call) => observeBoth(one.begin(...call), other.begin(...call)) };
}

function observeBoth(one: CallObserver, other: CallObserver): CallObserver {
  return {
    passedOver: (...given) => {
      one.passedOver(...given);
      other.passedOver(...given);
    },
    attempt: (...given) => {
      const ends = [one.attempt(...given), other.attempt(...given)];
      return (outcome) => {
        for (const end of ends) end(outcome);
      };
    },
    refused: (what) => {
      one.refused(what);
      other.refused(what);
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
