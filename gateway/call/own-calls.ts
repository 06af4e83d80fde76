import { RpcError } from '../jsonrpc/errors.ts';
import { isStronger, type VerifyLevel } from '../network-files/options/verify-option.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { complete } from '../upstreams/transport/flowing-result.ts';
import type { RangePart } from '../upstreams/range-part.ts';
import { parseResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { EvidenceRequest, Work } from '../verify/evidence/evidence.ts';
import { Call } from './call.ts';
import type { CoalescedCalls } from './coalesce.ts';
import { forward } from './forward.ts';
import type { Router } from './router.ts';

/* Calls of Gatehouse itself: they have no context, and need no slot of the network. */

/**
 * Sends a call of Gatehouse itself.
 * @param level how far its result is proven; its block is known to be the right one
 * @throws RpcError if no upstream has a usable response (rejects with it)
 */
export function requestUpstreams(
  router: Router,
  level: VerifyLevel,
  method: MethodSpec,
  params: readonly unknown[],
  deadline: number,
  range?: RangePart,
): Promise<UpstreamResponse> {
  const call = new Call(router, method, params, deadline);
  call.range = range;
  if (isStronger(level, 'observe')) call.verification = { ...proofOfOwnCall, isRequired: level === 'require' };
  return forward(call).then(complete);
}

const proofOfOwnCall = { isWitnessed: false, agree: undefined } as const;

/**
 * Sends a request for evidence, or joins an identical one in progress: if that one ends at the deadline of the check that sent
 * it, it is sent again for a check with time left.
 * @param inFlight requests for evidence
 * @throws RpcError if no upstream has a usable result, Cancelled (rejects with it)
 */
export async function requestEvidence(
  router: Router,
  inFlight: CoalescedCalls,
  method: MethodSpec,
  params: readonly unknown[],
  { work, except, mustBeProven }: EvidenceRequest,
): Promise<unknown> {
  const { deadline, caller } = work;
  const name = `${method.name} ${JSON.stringify([params, except?.name, mustBeProven])}`;
  const found = await inFlight.request(name, { deadline, caller, owner: caller.owner }, async ({ cancellation }) => {
    await work.charge(method.name, params);
    const call = new Call(router, method, params, deadline);
    call.cancellation = cancellation;
    call.evidenceFor = work;
    if (except !== undefined) call.excluded = [except];
    if (mustBeProven) call.verification = { ...proofOfOwnCall, isRequired: true };
    return parseResponse(complete(await forward(call)));
  });
  return found.kind === 'result' ? found.result : undefined;
}

/** Sends a call of Gatehouse itself to an upstream that is none of these. Undefined: no other one has a response. */
export async function sendToOther(
  router: Router,
  method: MethodSpec,
  params: readonly unknown[],
  { deadline, caller }: Pick<Work, 'deadline' | 'caller'>,
  excluded: readonly Upstream[],
): Promise<{ readonly upstream: Upstream; readonly response: UpstreamResponse } | undefined> {
  const call = new Call(router, method, params, deadline);
  call.cancellation = caller;
  call.excluded = excluded;
  try {
    const response = complete(await forward(call));
    const upstream = call.respondingUpstream;
    return upstream === undefined || excluded.includes(upstream) ? undefined : { upstream, response };
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}
