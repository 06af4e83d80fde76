import { clock } from '../../clock/clock.ts';
import { firstWithin, settled } from '../../clock/first-within.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { AttemptOutcome } from '../../upstreams/outcome.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Call } from '../call.ts';
import type { Router } from '../router.ts';
import type { Rule, RuleAccess } from './rule.ts';

/** Time after which an upstream that waits for a receipt gets a lookup of the transaction. */
const CHECK_MS = 5_000;

/**
 * A call that waits for a receipt is given up at an upstream that hangs, because another one may get it. A relay may have a
 * private transaction and return null for its hash.
 */
export function lateReceipt({ sends, group }: MethodSpec, _: Router, access: RuleAccess): Rule<Call> | undefined {
  return sends === true && group === 'long' && access !== 'private' ? { during: unlessItHangs } : undefined;
}

/**
 * An upstream that neither responds nor has the transaction hangs: then the call does not wait for it any more. It waits if
 * nothing shows whether the upstream has it.
 * @throws as the attempt (rejects with it)
 */
async function unlessItHangs(call: Call, upstream: Upstream, sent: Promise<AttemptOutcome>): Promise<AttemptOutcome> {
  const { router, transaction, deadline, candidates = router.all } = call;
  if (candidates.length === 1) return sent;
  const ended = settled(sent, () => true);
  const checkMs = Math.min(CHECK_MS, (deadline - clock.now()) / 3);
  if (await firstWithin([ended], checkMs)) return sent;
  const hasIt = transaction && router.sent.has(upstream, transaction, clock.now() + checkMs).catch(() => false);
  if ((await Promise.race([ended, hasIt])) !== false) return sent;
  const detail = 'neither a receipt, nor does the upstream have the transaction';
  return { final: false, failure: 'slow', response: undefined, detail };
}
