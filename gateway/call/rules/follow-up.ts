import { clock } from '../../clock/clock.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { complete } from '../../upstreams/transport/flowing-result.ts';
import { MIN_ATTEMPT_MS, parseResponse, UpstreamFailure } from '../../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Call } from '../call.ts';
import type { Rule } from './rule.ts';

/** A revert in an estimate gets its payload by a second request to the same upstream, which also proves a guessed revert. */
export function followUp({ omitsPayload, resultIs }: MethodSpec): Rule<Call> | undefined {
  return omitsPayload === true || resultIs === 'gas-estimate' ? { judge: completeRevert } : undefined;
}

/** Completes a revert. If the second response adds nothing, the outcome stays as it is. */
async function completeRevert(
  { router, deadline }: Call,
  upstream: Upstream,
  outcome: Outcome,
  cancellation: Cancellation | undefined,
): Promise<Outcome> {
  if (outcome.followUp === undefined) return outcome;
  const { method, params, complete: completed } = outcome.followUp;
  const isCandidate = router.options.permitted.candidatesOf(method)?.includes(upstream) !== false;
  if (deadline - clock.now() < MIN_ATTEMPT_MS || !isCandidate) return outcome;
  try {
    const completion = parseResponse(
      complete(await upstream.send(method, JSON.stringify(params), { deadline, cancellation })),
    );
    const response = completed(completion);
    return response === undefined ? outcome : upstream.withoutSecrets({ final: true, response } as const);
  } catch (error) {
    if (error instanceof UpstreamFailure) return outcome;
    throw error;
  }
}
