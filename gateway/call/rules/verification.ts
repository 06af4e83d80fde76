import { memoryReasons, RpcError } from '../../jsonrpc/errors.ts';
import type { Proof } from '../../jsonrpc/proof.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { FinalOutcome, Outcome } from '../../upstreams/outcome.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { complete, type FlowingResponse } from '../../upstreams/transport/flowing-result.ts';
import { UpstreamFailure, type UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Work } from '../../verify/evidence/evidence.ts';
import { isAuditable } from '../../verify/pin-call.ts';
import { unknown } from '../../verify/subject.ts';
import type { Call } from '../call.ts';
import { limitRejection } from '../charge.ts';
import type { Router } from '../router.ts';
import { isEnough, type CallVerification } from '../verification.ts';
import { pinTag } from './pin-tag.ts';
import type { Rule, RuleAccess } from './rule.ts';

/**
 * Results are proven, or compared with those of other upstreams, by `verify`: before they are returned, and a share of the reads
 * in the background (an audit).
 * @param isVerified the results of the calls are proven before they are returned
 */
export function verification(
  method: MethodSpec,
  { options }: Router,
  access: RuleAccess,
  isVerified: boolean,
): Rule<Call> | undefined {
  const { verifier, verificationOf } = options;
  const share = access === 'gatehouse' || !isAuditable(method) ? 0 : verificationOf(method.name).share;
  if (!isVerified && share === 0) return undefined;
  const judge: Rule<Call>['judge'] = async (call, upstream, given, cancellation) => {
    const outcome = isVerified ? await verify(call, upstream, given, cancellation) : given;
    if (outcome.final && share > 0) {
      const { params } = call.pinned ?? call;
      verifier.observe(upstream, { method, params, record: call.record }, outcome.response, share);
    }
    return outcome;
  };
  return isVerified ? { select: pin, judge, end } : { judge };
}

/** @throws RpcError if nothing can prove the result, and it must be proven (rejects with it) */
function pin(call: Call): Promise<void> {
  const { method, router } = call;
  const { isRequired, agree } = requiredOf(call);
  if (isRequired && method.provenAs === undefined && agree === undefined)
    throw new RpcError(
      'not-proven',
      `the result of ${method.name} cannot be proven: \`verify.agree\` compares upstreams`,
    );
  return pinTag(call, requiredOf(call), (tag) =>
    router.options.verifier.numberOfTag(tag, workOf(call, router.all[0] as Upstream)),
  );
}

/** The rule exists for calls that have one. */
function requiredOf({ verification: given }: Call): CallVerification {
  return given as CallVerification;
}

const unproven = { final: false, failure: 'unproven', response: undefined } as const;
const nothingShown = { finding: unknown, result: undefined };

/** A result that is disproved is an upstream failure; so is one that nothing proves, if it must be proven. */
async function verify(
  call: Call,
  upstream: Upstream,
  outcome: Outcome,
  cancellation: Cancellation | undefined,
): Promise<Outcome> {
  if (!outcome.final) return outcome;
  const { method, params, router, pinned, evidenceFor } = call;
  const { isRequired, agree } = requiredOf(call);
  const isHead = method.resultIs === 'head-number' && pinned !== undefined && outcome.response.kind === 'result';
  const response: typeof outcome.response = isHead
    ? { kind: 'result', result: `0x${pinned.number.toString(16)}` }
    : outcome.response;
  if (response.kind === 'error' && agree === undefined) return outcome;
  if (evidenceFor !== undefined && response.kind === 'result' && response.result === null)
    return { final: false, failure: 'not-found', response: undefined };
  const memory = checkedBytes(call);
  const work = workOf(call, upstream, memory.take, cancellation);
  const { verifier } = router.options;
  const { finding, result } =
    response.kind === 'error'
      ? nothingShown
      : await verifier
          .check(method, pinned?.params ?? params, response, work)
          .catch((error: unknown) => {
            // Without memory for the evidence, nothing proves the result.
            if (isRequired || !(error instanceof RpcError) || !memoryReasons.has(error.reason)) throw error;
            return nothingShown;
          })
          .finally(memory.release);
  switch (finding.kind) {
    case 'proven': {
      const agreed = agree === undefined || isHead ? undefined : await agreeing(call, outcome, agree, work);
      if (agreed?.final === false) return { ...unproven, detail: 'others agree on another result' };
      // Evidence is parsed already.
      return withProof(outcome, evidenceFor === undefined ? response : { kind: 'result', result }, finding.proof);
    }
    case 'disproved':
      return disproved(call, upstream, response, finding.reason);
    case 'other-branch':
      return { ...unproven, detail: 'of another branch', isOnOtherBranch: true };
    case 'unknown':
      if (agree !== undefined) return agreeing(call, outcome, agree, work);
      if (isRequired) return { ...unproven, detail: 'not proven' };
      return withProof(outcome, response, 'no');
  }
}

/** The outcome on which enough upstreams agree. @throws RpcError if they do not */
async function agreeing(call: Call, outcome: FinalOutcome, agree: number, work: Work): Promise<Outcome> {
  const { method, params, router, pinned } = call;
  const { response } = outcome;
  try {
    const claim = { method, params: pinned?.params ?? params, response, work };
    return (await router.options.verifier.agree(claim, agree))
      ? withProof(outcome, response, `agreed:${agree}`)
      : disproved(call, work.upstream, response, 'others agree on another result');
  } catch (error) {
    // One of the results has too many values to be compared.
    if (error instanceof UpstreamFailure) return { ...unproven, detail: error.message };
    throw error;
  }
}

/** Earlier results of the upstream may be cached: they are given up. */
function disproved(
  { method, router }: Call,
  upstream: Upstream,
  response: UpstreamResponse | undefined,
  detail: string,
): Outcome {
  if (!upstream.methods.isWithoutResults(method.name)) router.chain.distrusted();
  return { final: false, failure: 'disproved', response, detail };
}

function withProof(outcome: FinalOutcome, response: UpstreamResponse, proof: Proof): FinalOutcome {
  return { ...outcome, response: { ...response, proof } };
}

/** @throws RpcError if the result is not proven as the call requires */
function end(call: Call, given: UpstreamResponse | FlowingResponse): UpstreamResponse {
  const response = complete(given);
  // Null is no evidence.
  if (call.evidenceFor !== undefined && response.kind === 'result' && response.result === null) return response;
  if (response.kind !== 'error' && !isEnough(response.proof, requiredOf(call))) throw new RpcError('not-proven');
  return response;
}

/** Smaller results are checked when memory is high. */
const SMALL_BYTES = 65_536;

/** Takes the bytes of a result that is checked, and of the evidence for it, until they are released. */
function checkedBytes({ context }: Call): { readonly take: Work['take']; readonly release: () => void } {
  const reservation = context?.reservation;
  let taken = 0;
  let isReleased = false;
  return {
    take: (bytes) => {
      // Evidence may arrive for others after the check.
      if (isReleased) return;
      reservation?.take(bytes, bytes <= SMALL_BYTES);
      taken += bytes;
    },
    release: () => {
      reservation?.giveBack(taken);
      isReleased = true;
    },
  };
}

/** @param take bytes of the check. Evidence is taken for the check that needs it, and a lookup that need not be proven takes none */
function workOf(
  call: Call,
  upstream: Upstream,
  take: Work['take'] = () => undefined,
  cancellation: Cancellation | undefined = call.cancellation,
): Work {
  const { deadline, evidenceFor } = call;
  return {
    ...{ deadline, upstream, owner: call.timeOwnerFor(upstream) },
    isEvidence: evidenceFor !== undefined,
    caller: cancellation ?? new Cancellation(call.owner),
    take: evidenceFor?.take ?? take,
    charge: evidenceFor?.charge ?? ((name, params) => charge(call, name, params)),
  };
}

/** Charges the caller for a request that its call needs. @throws RpcError */
async function charge(call: Call, name: string, params: readonly unknown[]): Promise<void> {
  const { context } = call;
  const units = context?.network.methods.get(name)?.unitsOf(params) ?? 1;
  call.requestUnits = (call.requestUnits ?? 0) + units;
  const { limits } = context?.access ?? {};
  if (context === undefined || limits?.isCharged !== true) return;
  const { shortage } = await context.limiter.charge(limits, { units, byMethod: new Map() });
  if (shortage !== undefined) throw limitRejection([], shortage, context);
}
