import { clock } from '../clock/clock.ts';
import { normalise } from '../normalise/normalise.ts';
import { normaliseInSteps } from '../normalise/normalise-in-steps.ts';
import type { RecordedAttempt } from '../observability/call-record.ts';
import { backOff } from '../routing/back-off.ts';
import type { Failsafe } from '../routing/failsafe-table.ts';
import { isRead } from '../spec/method-group.ts';
import { runsCode } from '../upstreams/concurrency-limit.ts';
import type { AttemptOutcome, FailedOutcome, Outcome } from '../upstreams/outcome.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { BatchedGroup } from '../upstreams/transport/transport.ts';
import { IN_STEPS_OVER_BYTES } from '../upstreams/transport/response-envelope.ts';
import { TimedOut, UpstreamFailure, type LargeResponse } from '../upstreams/transport/upstream-response.ts';
import type { SendOptions, Upstream } from '../upstreams/upstream.ts';
import { canSendAgain } from './after-failure.ts';
import type { Call } from './call.ts';
import { flowOf } from './flow.ts';
import { sendHedged } from './hedge.ts';
import {
  recordConcurrency,
  recordFailedAttempt,
  recordFlow,
  recordHead,
  recordNoResponse,
  recordSuccess,
} from './record-attempt.ts';
import { takeRetry } from './select.ts';

/**
 * Makes an attempt of a call at an upstream, with a hedged request to a second one if the first takes long. The call then
 * names the upstream whose outcome this is. @throws Cancelled, RpcError (rejects with it)
 */
export function attempt(call: Call, upstream: Upstream, now: number): Promise<AttemptOutcome> {
  const { router, tried, failed, deadline } = call;
  if (tried.length > 0 && call.unconfirmed === undefined) router.options.metrics.failedOver(upstream.name);
  call.tried = [...tried, upstream];
  call.attempts++;
  call.respondingUpstream = upstream;
  call.sentAt = now;
  return failed.length === 0 || upstream.circuit.isClosed
    ? begin(call, upstream, now)
    : backOff(failed.length, deadline - now).then(() => begin(call, upstream, clock.now()));
}

function begin(call: Call, upstream: Upstream, now: number): Promise<AttemptOutcome> {
  call.wasClosed = upstream.circuit.isClosed;
  const hedgeMs = call.router.hedgeDelay?.delayFor(call, upstream, call.deadline - now);
  return hedgeMs === undefined
    ? sendTo(call, upstream, call.cancellation, now)
    : sendHedged(call, upstream, hedgeMs, sendTo);
}

/**
 * Sends the call to an upstream that has admitted it, and classifies and records what it returns.
 * @throws Cancelled, RpcError (rejects with it)
 */
export function sendTo(
  call: Call,
  upstream: Upstream,
  cancellation: Cancellation | undefined,
  startedAt: number,
  isHedge = false,
): Promise<AttemptOutcome> {
  // Only such a result is cached for the head.
  if (call.isRequestedAgain) recordHead(call, upstream, startedAt, isHedge);
  const { rules, record } = call;
  const recorded = record?.attempted(upstream.name, isHedge);
  let outcome = outcomeAt(call, upstream, cancellation, startedAt);
  if (rules.during !== undefined) for (const watch of rules.during) outcome = watch(call, upstream, outcome);
  return recorded === undefined ? outcome : recordEnd(call, recorded, outcome);
}

async function recordEnd(
  { record }: Call,
  recorded: RecordedAttempt,
  attempt: Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  try {
    const outcome = await attempt;
    record?.attemptEnded(recorded, outcome.final ? 'response' : outcome.failure);
    return outcome;
  } catch (error) {
    record?.attemptEnded(recorded, 'cancelled');
    throw error;
  }
}

/** @param isResend after the upstream had closed the connection */
async function outcomeAt(
  call: Call,
  upstream: Upstream,
  cancellation: Cancellation | undefined,
  startedAt: number,
  isResend = false,
): Promise<AttemptOutcome> {
  const { router, method, deadline } = call;
  const { params, text } = call.pinned ?? call;
  const reservation = call.context?.reservation;
  if (method.sends === true && reservation !== undefined) reservation.mustDeliver = true;
  const timeoutMs = timeoutOf(call, upstream, deadline - startedAt);
  const batch = call.context?.batchBudget ?? call.evidenceFor;
  const batchedGroup = batch && batchedGroupOf(call);
  const clientBatch = batchedGroup && batch;
  const flow = flowOf(call);
  const options: SendOptions = {
    ...{ deadline, timeoutMs, runsCode: runsCode(method), cancellation, reservation, clientBatch, batchedGroup, flow },
    isAdmitted: !isResend,
    turns: upstream.largeTurns,
  };
  let outcome: Outcome;
  let receivedAt: number;
  try {
    const sending = upstream.send(method.name, text, options);
    upstream.concurrency.watch({ method, owner: cancellation?.owner, startedAt }, sending);
    const response = await sending;
    receivedAt = clock.now() - (options.largeTurn?.waitedMs ?? 0);
    if (response.kind === 'flowing') {
      recordConcurrency(call, upstream, false, options.startedAt ?? startedAt);
      recordFlow(call, upstream, response, startedAt);
      return { final: true, response };
    }
    const normalised =
      response.kind === 'large' && response.parts[0].length > IN_STEPS_OVER_BYTES
        ? await normaliseLarge(call, upstream, params, response, options)
        : normalise(method, params, response);
    options.largeTurn?.end();
    outcome = upstream.withoutSecrets(normalised);
    const isRefused = !outcome.final && outcome.failure === 'rate';
    recordConcurrency(call, upstream, isRefused, options.startedAt ?? startedAt, receivedAt);
  } catch (error) {
    options.largeTurn?.end();
    if (error instanceof UpstreamFailure && !error.isCallerTimeout) {
      const { failure } = error;
      if (failure === 'rate' || failure === 'slow' || error instanceof TimedOut)
        recordConcurrency(call, upstream, failure === 'rate', options.startedAt ?? startedAt);
    }
    if (isResend || !(error instanceof UpstreamFailure) || !error.staleConnection || !mayResend(call)) {
      if (method.sends === true) router.sent.countNoResponse(upstream, error);
      return recordNoResponse(call, upstream, error, startedAt);
    }
    call.attempts++;
    return outcomeAt(call, upstream, cancellation, clock.now(), true);
  }
  const { rules } = call;
  if (rules.judge !== undefined)
    for (const judge of rules.judge) outcome = await judge(call, upstream, outcome, cancellation);
  if (outcome.final) recordSuccess(call, upstream, outcome.response, startedAt, receivedAt);
  else recordFailedAttempt(call, upstream, outcome, startedAt);
  return outcome;
}

/**
 * The bytes of a result that waits for others of its owner are reserved.
 * @throws UpstreamFailure, RpcError, Cancelled (rejects with it)
 */
async function normaliseLarge(
  call: Call,
  upstream: Upstream,
  params: readonly unknown[],
  response: LargeResponse,
  { cancellation, largeTurn }: SendOptions,
): Promise<Outcome> {
  const { method, owner, context, deadline } = call;
  const reservation = context?.reservation;
  const { length } = response.parts[0];
  if (method.sends === true) reservation?.add(length);
  else reservation?.take(length);
  try {
    const name = call.timeOwnerFor(upstream);
    return await normaliseInSteps(method, params, response, { name, owner, deadline, cancellation, largeTurn });
  } finally {
    reservation?.giveBack(length);
  }
}

/**
 * Group of calls of one batch; undefined: the call is sent alone. A block with its transactions has up to megabytes, for which
 * other calls of a batch would wait: only evidence is sent so, because one check needs all of it.
 */
function batchedGroupOf({ method, params, evidenceFor }: Call): BatchedGroup | undefined {
  const { group } = method;
  if (evidenceFor !== undefined && (method.shape?.type === 'Block' || method.provenAs === 'receipts'))
    return method.shape?.type === 'Block' && params[1] !== true ? 'header' : 'block';
  if ((group !== 'lookup' && group !== 'execution') || !isRead(method)) return undefined;
  const isLarge = method.shape?.type === 'Block' && params[1] === true;
  return isLarge ? undefined : group;
}

/** The time limit of the method at the upstream; undefined: the upstream's. */
function timeoutOf(call: Call, upstream: Upstream, remainingMs: number): number | undefined {
  const { failsafe } = call.rules;
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
      upstream.drain === undefined &&
      !upstream.methods.isUnsupported(method.name),
  );
}

/** The failure of a connection that was closed before a response. */
const noResponse: FailedOutcome = { final: false, failure: 'transport', response: undefined };

/**
 * Whether the call may be sent again to the upstream that had closed the connection: if no other one gets it afterwards, and
 * no other one has responded about its transaction.
 */
function mayResend(call: Call): boolean {
  const { candidates = call.router.all, tried, transaction } = call;
  const isAtOnce = transaction?.isAtOnce === true && !transaction.isAccepted && !transaction.hasError;
  const isLast =
    (isAtOnce || candidates.every((one) => tried.includes(one))) && call.hasAttempt && canSendAgain(call, noResponse);
  return isLast && takeRetry(call, clock.now());
}
