import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Call } from '../call.ts';
import { inTime, untilDeadline } from '../in-time.ts';
import type { Router } from '../router.ts';
import type { Rule } from './rule.ts';

/**
 * A response waits until the other workers know the newest served block and the object that was looked up: none of them serves
 * an older block, or null, later. At the deadline a result becomes `no-upstream`. An error or null names no block and is returned.
 */
export function sharedBlocks(_: MethodSpec, { chain }: Router): Rule<Call> | undefined {
  if (!chain.isShared) return undefined;
  return {
    end: async (call, response) => {
      const sharing = chain.whenShared();
      const hasBlock = response.kind !== 'error' && !(response.kind === 'result' && response.result === null);
      if (sharing !== undefined) await (hasBlock ? inTime : untilDeadline)(call, sharing);
      return response;
    },
  };
}
