import { ruleNameOf, type RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { CacheOutcome } from '../observability/call-sink.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import type { CallContext } from './call-context.ts';

/*
 * The stream of events of a call. Each event is reported here, and passed to all its sinks: metrics, usage, access log, spans
 * and explanation.
 */

/** Begins the stream of a caller's call. */
export function begun(call: Call, { network, sinks }: CallContext): void {
  call.served?.metric.started();
  if (sinks.length === 0) return;
  const { name } = call.method;
  call.sinks = sinks.map((each) => each.begin(name, network.config.slug, call.id));
}

/** The outcome of the cache lookup. */
export function cached(call: Call, outcome: CacheOutcome): void {
  for (const sink of call.sinks) sink.cached?.(outcome);
}

/** What proves the result of the call. */
export function verified({ served, sinks }: Call, proof: Proof): void {
  served?.metric.verified(proof);
  for (const sink of sinks) sink.verified?.(proof);
}

/** @param isFirst at the selection for the first attempt, which the metrics count */
export function skipped(call: Call, upstream: Upstream, reason: SkipReason, isFirst: boolean): void {
  if (isFirst) upstream.metrics.skipped(reason);
  for (const sink of call.sinks) sink.skipped?.(upstream.name, reason);
}

/** An attempt begins. @returns to be called at its end with `response`, a failure class, or `cancelled` */
export function attempted(call: Call, upstream: Upstream, isHedge: boolean): ((outcome: string) => void) | undefined {
  const { sinks, router } = call;
  if (isHedge) router.options.metrics.hedged('started');
  if (sinks.length === 0) return undefined;
  const ends = sinks.map((sink) => sink.attempt?.(upstream.name, isHedge));
  return (outcome) => {
    for (const end of ends) end?.(outcome);
  };
}

/** The call is sent to an upstream after another one failed. */
export function failedOver({ router }: Call, { name }: Upstream): void {
  router.options.metrics.failedOver(name);
}

/** A call for which a hedged request was sent has ended. */
export function hedged({ router }: Call, hasHedgeWon: boolean): void {
  router.options.metrics.hedged(hasHedgeWon ? 'won' : 'lost');
}

/** The retry budget did not allow a retry or a hedge. @param isReported to sinks other than the metrics */
export function budgetExceeded({ router, sinks }: Call, what: 'retry' | 'hedge', isReported = true): void {
  router.options.metrics.budgetExceeded(what);
  if (isReported) for (const sink of sinks) sink.budgetExceeded?.(what);
}

/**
 * The end of a caller's call. If it is overloaded, no upstream was used.
 * @param outcome a label of the metrics, never text that a caller sent
 * @param code of the JSON-RPC error
 * @param bytes of the response
 */
export function ended(
  call: Call,
  outcome: string,
  code: number | undefined,
  bytes: number,
  rejection?: RpcError,
): void {
  const { served, context, sinks, startedAt } = call;
  // Includes the parts of a range.
  const requestUnits = outcome === 'overloaded' ? 0 : (call.requestUnits ?? 0);
  served?.metric.ended(outcome, startedAt);
  if (rejection?.rule !== undefined) served?.metric.rejectedBy(rejection.rule);
  if (sinks.length > 0) {
    const { method, params } = call;
    for (const sink of sinks) sink.ended?.({ outcome, code, requestUnits, rejection, method, params });
  }
  if (context === undefined) return;
  const { record, token } = context.access;
  const reason = rejection === undefined ? outcome : usageReasonOf(rejection);
  served?.usage.add(record.id, requestUnits, isError(outcome) ? reason : undefined, bytes, token !== undefined);
}

/** The permission, limit or bound that rejects a request, else the reason: never text that a caller sent. */
export function usageReasonOf({ rule, reason }: RpcError): string {
  return rule === undefined ? reason : ruleNameOf(rule);
}

function isError(outcome: string): boolean {
  return outcome !== 'result' && outcome !== 'null' && outcome !== 'notification' && outcome !== 'caller-left';
}
