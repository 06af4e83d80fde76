import { clock } from '../clock/clock.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { changesNode } from '../spec/method-facts.ts';
import { changesChain } from '../spec/method-group.ts';
import type { FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { confirmByFailure, wasAtHead, isMissing } from './confirm.ts';
import { highestOf, responseOfFailures } from './exhausted.ts';

/**
 * The response if the failed attempt was for confirmation, or shows that no other upstream can help. Undefined: the call is
 * sent to another one. @throws RpcError (or rejects)
 */
export function afterFailure(
  call: Call,
  outcome: FailedOutcome,
): UpstreamResponse | Promise<UpstreamResponse> | undefined {
  const { method, unconfirmed, respondingUpstream } = call;
  const { failure, response } = outcome;
  if (isMissing(outcome) && wasAtHead(call)) call.isMissingAtHead = true;
  if (unconfirmed !== undefined) return confirmByFailure(call, unconfirmed, outcome);
  const wasCircuitOpen = !call.wasClosed && response === undefined;
  call.failed = [...call.failed, wasCircuitOpen ? { ...outcome, wasCircuitOpen } : outcome];
  if (!canSendAgain(call, outcome)) return responseOfFailures(call);
  if (failure === 'no-block' && !method.nullable && respondingUpstream !== undefined)
    return isAboveHead(call, respondingUpstream) ? response : undefined;
  return undefined;
}

/** Failure classes of a call that the upstream rejected without executing it. */
const rejections: ReadonlySet<FailureClass> = new Set(['unsupported', 'rate', 'quota', 'auth', 'wrong-chain']);

/** Failure classes of a call that the upstream could not execute, for lack of a block, state or index. */
const missingData: ReadonlySet<FailureClass> = new Set(['node-state', 'no-block', 'not-found']);

/**
 * Whether a call may be sent again after a failed attempt. A pass-through method is not, after a response, unless its range
 * was too large, or it reads what the upstream lacks; one that may change something, or sends an operation, is not, after a
 * timeout either.
 */
export function canSendAgain(
  { method, range }: Pick<Call, 'method' | 'range'>,
  { failure, response, isUnsent }: FailedOutcome,
): boolean {
  const isUnknown = method.isPassThrough === true || method.sendsOperation === true;
  if (!isUnknown || rejections.has(failure) || isUnsent === true) return true;
  if (range !== undefined && failure === 'too-large') return true;
  const hasResponded = response !== undefined || failure === 'malformed';
  return (!hasResponded || missingData.has(failure)) && !changesChain(method) && !changesNode(method.name);
}

/** Whether the call names a block above every polled head, and the upstream that does not have it is not lagging. */
function isAboveHead(call: Call, upstream: Upstream): boolean {
  const { chain, all } = call.router;
  const { view } = chain;
  const highest = highestOf(call);
  if (highest === undefined || view.headOf(upstream) === undefined) return false;
  if (view.isLagging(upstream, clock.now())) return false;
  const numbers = all.map((one) => view.headOf(one)?.number ?? -1n);
  return highest > Number(view.newestServed) && numbers.every((number) => highest > Number(number));
}
