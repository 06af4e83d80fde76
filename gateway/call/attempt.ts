import { normalise } from '../normalise/normalise.ts';
import { backOff } from '../routing/back-off.ts';
import type { Failsafe } from '../routing/failsafe-table.ts';
import { isRead } from '../spec/method-group.ts';
import type { FailedOutcome, FollowUp, Outcome } from '../upstreams/outcome.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import {
  MIN_ATTEMPT_MS,
  parseResponse,
  UpstreamFailure,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { canSendAgain } from './after-failure.ts';
import type { Call } from './call.ts';
import { attempted, failedOver } from './events.ts';
import { sendHedged } from './hedge.ts';
import { recordFailedAttempt, recordHead, recordNoResponse, recordOvertaken, recordSuccess } from './record-attempt.ts';
import { takeRetry } from './select.ts';

/**
 * Makes an attempt of a call at an upstream, with a hedged request to a second one if the first takes long. The call then
 * names the upstream whose outcome this is. @throws Cancelled, RpcError (rejects with it)
 */
export async function attempt(call: Call, upstream: Upstream, now: number): Promise<Outcome> {
  const { router, tried, failed, deadline } = call;
  const { circuit } = upstream;
  if (tried.length > 0 && call.unconfirmed === undefined) failedOver(call, upstream);
  call.tried = [...tried, upstream];
  call.attempts++;
  call.respondingUpstream = upstream;
  call.askedAt = now;
  const remainingMs = deadline - now;
  if (failed.length > 0 && !circuit.isClosed) await backOff(failed.length, remainingMs);
  call.wasClosed = circuit.isClosed;
  const hedgeMs = router.hedgeDelay?.delayFor(call, upstream, remainingMs);
  return hedgeMs === undefined
    ? sendTo(call, upstream, call.cancellation)
    : sendHedged(call, upstream, hedgeMs, sendTo, recordOvertaken);
}

/** Sends the call to an upstream, and classifies and records what it returns. @throws Cancelled, RpcError (rejects with it) */
async function sendTo(
  call: Call,
  upstream: Upstream,
  cancellation: Cancellation | undefined,
  isHedge = false,
): Promise<Outcome> {
  recordHead(call, upstream, isHedge);
  const end = attempted(call, upstream, isHedge);
  try {
    const outcome = await outcomeAt(call, upstream, cancellation);
    end?.(outcome.final ? 'response' : outcome.failure);
    return outcome;
  } catch (error) {
    end?.('cancelled');
    throw error;
  }
}

async function outcomeAt(call: Call, upstream: Upstream, cancellation: Cancellation | undefined): Promise<Outcome> {
  const { router, method, deadline, pinned } = call;
  const { params } = pinned ?? call;
  const startedAt = performance.now();
  let outcome: Outcome;
  try {
    const response = await send(call, upstream, cancellation, startedAt);
    outcome = upstream.withoutSecrets(normalise(method, params, response));
  } catch (error) {
    return recordNoResponse(call, upstream, error);
  }
  if (!outcome.final && outcome.followUp !== undefined)
    outcome = await complete(call, upstream, outcome, outcome.followUp, cancellation);
  if (method.sends === true)
    outcome = await router.sent.resolveOutcome(upstream, method, String(params[0]), outcome, deadline);
  if (!outcome.final) {
    recordFailedAttempt(call, upstream, outcome);
    return outcome;
  }
  recordSuccess(call, upstream, outcome.response, startedAt);
  return outcome.followUp === undefined ? outcome : complete(call, upstream, outcome, outcome.followUp, cancellation);
}

/** @throws UpstreamFailure, Cancelled, RpcError (rejects with it) */
async function send(
  call: Call,
  upstream: Upstream,
  cancellation: Cancellation | undefined,
  startedAt: number,
): Promise<UpstreamResponse> {
  const { method, group, params, deadline, pinned, context, text } = call;
  // A block with its transactions has up to megabytes, for which other calls of a batch would wait.
  const isLarge = method.shape?.type === 'Block' && params[1] === true;
  const mayBatch = group === 'lookup' && isRead(method) && !isLarge;
  const options = {
    deadline,
    timeoutMs: timeoutOf(call, upstream, deadline - startedAt),
    cancellation,
    clientBatch: mayBatch ? context?.batchBudget : undefined,
  };
  const sent = pinned?.text ?? text;
  try {
    return await upstream.send(method.name, sent, options);
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || !error.staleConnection || !mayResend(call)) throw error;
    call.attempts++;
    return upstream.send(method.name, sent, options);
  }
}

/** Of the method at the upstream; undefined: the upstream's. */
function timeoutOf(call: Call, upstream: Upstream, remainingMs: number): number | undefined {
  const { failsafe } = call;
  const timeoutMs = failsafe?.timeoutMs.get(upstream);
  // Otherwise an upstream that hangs would use the time of the whole call.
  return failsafe?.sharesTime?.has(upstream) === true && hasOtherUpstream(call, failsafe)
    ? Math.min(timeoutMs ?? Infinity, remainingMs / 2)
    : timeoutMs;
}

/** Whether another upstream may get the call after a failure. */
function hasOtherUpstream(call: Call, { timeoutMs }: Failsafe<Upstream>): boolean {
  const { method, tried, candidates = [...timeoutMs.keys()] } = call;
  if (!call.hasAttempt) return false;
  return candidates.some(
    (upstream) =>
      !tried.includes(upstream) &&
      upstream.circuit.isClosed &&
      !upstream.isOnOtherChain &&
      !upstream.methods.isUnsupported(method.name),
  );
}

/** The failure of a connection that was closed before a response. */
const noResponse: FailedOutcome = { final: false, failure: 'transport', response: undefined };

/** Whether the call may be sent again to the upstream that had closed the connection: the only one. */
function mayResend(call: Call): boolean {
  const { candidates = call.router.all } = call;
  const isOnlyOne = candidates.length === 1 && call.hasAttempt && canSendAgain(call, noResponse);
  return isOnlyOne && takeRetry(call, performance.now());
}

/** Sends the follow-up call to the same upstream. If it adds nothing, the outcome stays as it is. */
async function complete(
  call: Call,
  upstream: Upstream,
  outcome: Outcome,
  { method, params, complete: completed }: FollowUp,
  cancellation: Cancellation | undefined,
): Promise<Outcome> {
  const { router, deadline } = call;
  const isCandidate = router.options.routes.candidatesOf(method)?.includes(upstream) !== false;
  if (deadline - performance.now() < MIN_ATTEMPT_MS || !isCandidate) return outcome;
  try {
    const completion = parseResponse(await upstream.send(method, JSON.stringify(params), { deadline, cancellation }));
    const response = completed(completion);
    return response === undefined ? outcome : upstream.withoutSecrets({ final: true, response } as const);
  } catch (error) {
    if (error instanceof UpstreamFailure) return outcome;
    throw error;
  }
}
