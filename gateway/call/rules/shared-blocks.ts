import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Call } from '../call.ts';
import { untilDeadline } from '../in-time.ts';
import type { Router } from '../router.ts';
import type { Rule } from './rule.ts';

/** A response waits until the other workers know the newest served block: none of them serves an older one later. */
export function sharedBlocks(_: MethodSpec, { chain }: Router): Rule<Call> | undefined {
  if (!chain.isShared) return undefined;
  return {
    end: async (call, response) => {
      const sharing = chain.whenShared();
      if (sharing !== undefined) await untilDeadline(call, sharing);
      return response;
    },
  };
}
