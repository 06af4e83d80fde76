import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isStronger, type VerifyLevel } from '../network-files/options/verify-option.ts';
import type { RangePart } from '../upstreams/range-part.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blockOfHash, blocksNamedBy } from '../upstreams/available-blocks.ts';
import { complete, type FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import { parseResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { EvidenceRequest, Work } from '../verify/evidence/evidence.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { afterFailure } from './after-failure.ts';
import { attempt } from './attempt.ts';
import { awaitNewer } from './await-newer.ts';
import { Call } from './call.ts';
import type { CoalescedCalls } from './coalesce.ts';
import { exhausted } from './exhausted.ts';
import { inTime, untilDeadline } from './in-time.ts';
import { namesItsBlock } from './monotonic-reads.ts';
import type { Router } from './router.ts';
import { rulesOf } from './rules/rule-list.ts';
import { catchUp, moreCapacity, selectUpstream } from './select.ts';

/**
 * Sends a call: tries one upstream after the other until a response is final. A caller's call waits for a slot of the network
 * first.
 * @throws RpcError if the slots are used up, or no upstream has a usable response; Cancelled (rejects with it)
 */
export async function forward(call: Call): Promise<UpstreamResponse | FlowingResponse> {
  const { owner, router } = call;
  const { admit, before, select, confirm, end } = (call.rules = rulesOf(call));
  if (admit !== undefined) for (const hook of admit) await hook(call);
  // Calls of Gatehouse itself need none.
  const slots = call.context === undefined ? undefined : router.slots;
  if (slots?.tryEnter(owner) === false) await slots.wait(owner, call.deadline - clock.now(), call.cancellation);
  try {
    prepare(call);
    if (before !== undefined) {
      for (const hook of before) {
        const begun = hook(call);
        const response = begun && (await begun);
        if (response === undefined) continue;
        await othersKnow(call);
        return response;
      }
    }
    for (;;) {
      if (select !== undefined) await select(call);
      const poll = router.isAlone ? undefined : catchUp(call, clock.now());
      if (poll !== undefined) await untilDeadline(call, poll);
      const more = router.hasLimits ? moreCapacity(call, false) : undefined;
      if (more !== undefined) await more;
      const now = clock.now();
      const upstream = selectUpstream(call, now);
      if (upstream === undefined) {
        if (await awaitNewer(call)) continue;
        const last = await exhausted(call);
        const sharing = othersKnow(call);
        if (sharing !== undefined) await untilDeadline(call, sharing);
        return end === undefined ? last : end(call, last);
      }
      const outcome = await attempt(call, upstream, now);
      const response = !outcome.final
        ? await afterFailure(call, outcome)
        : confirm === undefined
          ? outcome.response
          : confirm(call, outcome.response);
      if (response === undefined) continue;
      const sharing = othersKnow(call);
      if (sharing !== undefined) await sharing;
      return end === undefined ? response : end(call, response);
    }
  } finally {
    slots?.leave(owner);
  }
}

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

/** Reads what the call needs from its upstream. */
function prepare(call: Call): void {
  const { router, method, params } = call;
  const { all, options } = router;
  // With one upstream, only blocks, and the blocks of state, are compared.
  const needsBlocks = all.length > 1 || namesItsBlock(method) || method.blockAt?.readsState === true;
  if (needsBlocks) call.blocks = blocksNamedBy(method, params) ?? blockOfHash(router.chain.view, method, params);
  const candidates = options.permitted.candidatesOf(method.name);
  const { excluded } = call;
  call.candidates = excluded.length === 0 ? candidates : (candidates ?? all).filter((one) => !excluded.includes(one));
  call.failsafe = options.failsafe.of(method);
}

/** Resolves when other workers know the newest served block. Undefined: they do. */
function othersKnow(call: Call): Promise<void> | undefined {
  const sharing = call.router.chain.whenShared();
  return sharing && inTime(call, sharing);
}
