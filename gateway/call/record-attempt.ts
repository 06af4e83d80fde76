import { clock } from '../clock/clock.ts';
import type { FailedCall } from '../upstreams/health/circuit-breaker.ts';
import { FramingFlood } from '../upstreams/transport/http-exchange.ts';
import { inspectIfDue } from '../upstreams/inspect-result.ts';
import type { FailedOutcome, Outcome } from '../upstreams/outcome.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import {
  jsonResponse,
  ResponseTooLarge,
  TooManyValues,
  UpstreamFailure,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { noIgnored, type Call, type IgnoredFailure } from './call.ts';
import { recordServed } from './record-served.ts';

/** A hedged request keeps the hash only if both upstreams have the same head. */
export function recordHead(call: Call, upstream: Upstream, now: number, isHedge: boolean): void {
  const headHash = headHashAt(call, upstream, now);
  call.headHash = isHedge && call.headHash !== headHash ? undefined : headHash;
}

/** The hash of the network's head, if the upstream is known to have it. One of several nodes at its URL may not. */
function headHashAt({ router, verification, pinned }: Call, upstream: Upstream, now: number): string | undefined {
  const { view } = router.chain;
  const { head } = view;
  // The head has changed since the call names its block.
  if (verification !== undefined && pinned !== undefined && pinned.number !== head?.number) return undefined;
  if (head === undefined || view.headOf(upstream)?.header?.hash !== head.hash) return undefined;
  return upstream.isHeadUncertain || view.isAlternating(upstream, now) ? undefined : head.hash;
}

/**
 * @param isRefused the upstream responded that it gets too many requests
 * @param startedAt when the call had a slot of the upstream, by clock.now()
 * @param now when the response had arrived, by clock.now()
 */
export function recordConcurrency(
  call: Call,
  upstream: Upstream,
  isRefused: boolean,
  startedAt: number,
  now = clock.now(),
): void {
  upstream.concurrency.record({ method: call.method, owner: call.cancellation?.owner, startedAt, isRefused }, now);
}

/** @param now when the response had arrived, by clock.now() */
export function recordSuccess(
  call: Call,
  upstream: Upstream,
  response: UpstreamResponse | FlowingResponse,
  startedAt: number,
  now = clock.now(),
): void {
  const { router, method } = call;
  const { chain, options, hedgeDelay } = router;
  const isProven = response.kind !== 'flowing' && (response.proof ?? 'no') !== 'no';
  upstream.recordSuccess(method.name, startedAt, isProven);
  if (call.ignored.length > 0) countIgnored(call, upstream, now);
  call.range?.returned(upstream);
  if (upstream.isHeadUncertain) chain.poll(upstream).catch(() => undefined); // the next success polls again
  if (method.isPassThrough !== true && response.kind !== 'flowing')
    inspectIfDue(upstream, method.name, response, now, options);
  if (!router.isAlone) {
    upstream.latencyScore.recordLatency(method.group, now - startedAt, now);
    hedgeDelay?.add(method.name, now - startedAt, now);
  }
  chain.markUsed(now);
  const complete = response.kind === 'flowing' ? lastElementOf(response) : response;
  if (complete !== undefined) recordServed(chain, upstream, call, complete, now);
}

/** Records a result that flows when it has ended. A caller that reads slowly, or leaves, says nothing about the upstream. */
export function recordFlow(call: Call, upstream: Upstream, response: FlowingResponse, startedAt: number): void {
  const { head } = response.result;
  // Callers must not be served an older block from now on.
  if (head !== undefined) recordServed(call.router.chain, upstream, call, jsonResponse(head), clock.now());
  void response.ended.then((error) => {
    if (error === undefined) {
      recordSuccess(call, upstream, response, startedAt, response.result.receivedAt);
      if (response.result.isIrregular) call.router.options.metrics.returnedIrregular();
    } else if (error instanceof UpstreamFailure) recordNoResponse(call, upstream, error, startedAt);
  });
}

/** The last element of a list that has flowed, which names the newest block. */
function lastElementOf({ result: { last } }: FlowingResponse): UpstreamResponse | undefined {
  return last && jsonResponse(last);
}

/** @param startedAt of the attempt, by clock.now() */
export function recordFailedAttempt(call: Call, upstream: Upstream, outcome: FailedOutcome, startedAt: number): void {
  const { router, method, range } = call;
  if (outcome.isIrregular === true && outcome.response !== undefined)
    call.irregular = { response: outcome.response, upstream };
  // Callers can name any method of a wildcard: only those that exist are marked.
  const canMark = method.openedBy === undefined || router.all.some(({ methods }) => methods.isSupported(method.name));
  const failed = failedCall(call, startedAt);
  recordOutcome(upstream, method.name, outcome, describeError(outcome.response), canMark, failed);
  keepIgnored(call, upstream, outcome, failed);
  if (outcome.failure === 'too-large') range?.refused?.(upstream, outcome.response);
  else range?.failed?.(upstream);
  if (isMissingData(call, outcome)) recordMissingData(call, upstream);
}

/** A range with too large a result is no failure of the upstream. @throws the error if it is not an `UpstreamFailure` */
export function recordNoResponse(call: Call, upstream: Upstream, error: unknown, startedAt: number): Outcome {
  const { method, range } = call;
  const isUnsent = error instanceof UpstreamFailure && error.isUnsent;
  const failed = isUnsent ? undefined : failedCall(call, startedAt, error);
  if (range === undefined) {
    const outcome = recordFailure(upstream, method.name, error, failed);
    keepIgnored(call, upstream, outcome, failed);
    return isUnsent ? { ...outcome, isUnsent } : outcome;
  }
  const isTooLarge = error instanceof ResponseTooLarge;
  const failure = isTooLarge ? new UpstreamFailure('too-large', error.message) : error;
  const outcome = recordFailure(upstream, method.name, failure, failed);
  keepIgnored(call, upstream, outcome, failed);
  if (isTooLarge) range.refused?.(upstream, undefined);
  else range.failed?.(upstream);
  return outcome;
}

/** Records that a hedged request responded before the upstream. @param startedAt of its attempt, by clock.now() */
export function recordOvertaken(call: Call, upstream: Upstream, startedAt: number): void {
  const { method } = call;
  const now = clock.now();
  upstream.latencyScore.recordLatency(method.group, now - startedAt, now);
  // A cancelled attempt never times out. Without this failure, an upstream that does not respond would stay first.
  if (upstream.respondedAt > startedAt) return;
  const failure = new UpstreamFailure('slow', 'the hedged request responded first');
  const failed: FailedCall = { ...failedCall(call, startedAt, failure), isOvertaken: true };
  const outcome = recordFailure(upstream, method.name, failure, failed);
  // The hedged request was successful before.
  if (failed.isIgnored === true) recordServedElsewhere({ upstream, outcome, failed }, now);
}

/**
 * Records an upstream failure without a response.
 * @param call undefined: no call is the cause
 * @throws the error if it is not an `UpstreamFailure`
 */
export function recordFailure(upstream: Upstream, method: string, error: unknown, call?: FailedCall): FailedOutcome {
  if (!(error instanceof UpstreamFailure)) throw error;
  const { failure, retryAfterMs, message } = error;
  const outcome: FailedOutcome = { final: false, failure, response: undefined, detail: message, retryAfterMs };
  if (!error.isCallerTimeout) recordOutcome(upstream, method, outcome, message, true, call);
  return outcome;
}

/**
 * Lookups execute nothing. Other calls, and those with a result that is too large or has too many values, may cause any failure
 * but a framing flood.
 */
function failedCall({ cancellation, method }: Call, sentAt: number, error?: unknown): FailedCall {
  const isOfResult = error instanceof ResponseTooLarge || error instanceof TooManyValues;
  const isOfCall = method.group !== 'lookup' || method.isPassThrough === true || isOfResult;
  const mayBeCause = isOfCall && !(error instanceof FramingFlood);
  return { owner: cancellation?.owner, mayBeCause, error: error instanceof Error ? error : undefined, sentAt };
}

function keepIgnored(call: Call, upstream: Upstream, outcome: Outcome, failed: FailedCall | undefined): void {
  if (failed?.isIgnored === true && !outcome.final) call.ignored = [...call.ignored, { upstream, outcome, failed }];
}

/** Counts the ignored failures of a call that an upstream has served: the call is not their cause. */
export function countIgnored(call: Call, served: Upstream | undefined, now: number): void {
  const { ignored } = call;
  call.ignored = noIgnored;
  for (const failure of ignored) if (failure.upstream !== served) recordServedElsewhere(failure, now);
}

function recordServedElsewhere({ upstream, outcome, failed }: IgnoredFailure, now: number): void {
  const hasOpened = upstream.recordServedElsewhere(outcome, now, failed);
  if (hasOpened) upstream.health.logFailure(outcome.failure, 'calls that others serve', true);
}

function recordOutcome(
  upstream: Upstream,
  method: string,
  failed: FailedOutcome,
  detail: string,
  canMark: boolean,
  call: FailedCall | undefined,
): void {
  const hasOpened = upstream.recordFailure(method, failed, clock.now(), canMark, call);
  upstream.health.logFailure(failed.failure, detail, hasOpened);
}

/** The text of an upstream's error: at most 200 characters and no URLs, because it is from outside. */
function describeError(response: UpstreamResponse | undefined): string {
  if (response?.kind !== 'error') return 'invalid result';
  return `${response.code} ${response.message.slice(0, 200).replace(/https?:\/\/\S+/g, '<url>')}`;
}

/** Whether the upstream lacks data. For a lookup by hash, `no-block` means that the object does not exist. */
function isMissingData({ method, blocks }: Call, { failure }: FailedOutcome): boolean {
  return failure === 'node-state' || (failure === 'no-block' && blocks !== undefined && method.looksUpHash !== true);
}

/** The upstream does not have the block or state that the call needs. */
function recordMissingData({ router, method, blocks }: Call, upstream: Upstream): void {
  const now = clock.now();
  if (method.looksUpHash === true) upstream.blocks.recordMissingHistory(now);
  if (blocks !== undefined) upstream.blocks.recordMissing(method.name, blocks, router.chain.view.number, now);
}
