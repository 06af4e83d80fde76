import { ruleNameOf, type RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import { CallRecord } from '../observability/call-record.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, CallContext } from './call.ts';

/* The events of a call that metrics count. They are in its record, too, which the printers of its request read. */

/** Begins a caller's call. */
export function begun(call: Call, { network, printers }: CallContext): void {
  call.served?.metric.started();
  if (printers.length > 0) call.record = CallRecord.begin(call.method.name, network.config.slug, call.id, printers);
}

/** What proves the result of the call. */
export function verified({ served, record }: Call, proof: Proof): void {
  served?.metric.verified(proof);
  if (record !== undefined) record.proof = proof;
}

/** @param isFirst at the selection for the first attempt, which the metrics count */
export function skipped(call: Call, upstream: Upstream, reason: SkipReason, isFirst: boolean): void {
  if (isFirst) upstream.metrics.skipped(reason);
  call.record?.skipped(upstream.name, reason);
}

/** The retry budget did not allow a retry or a hedge. @param isReported in the record of the call, too */
export function budgetExceeded({ router, record }: Call, what: 'retry' | 'hedge', isReported = true): void {
  router.options.metrics.budgetExceeded(what);
  if (isReported) record?.budgetExceeded(what);
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
  const { served, context, record, startedAt, method, params } = call;
  // Includes the parts of a range.
  const requestUnits = outcome === 'overloaded' ? 0 : (call.requestUnits ?? 0);
  served?.metric.ended(outcome, startedAt);
  if (rejection?.rule !== undefined) served?.metric.rejectedBy(rejection.rule);
  record?.ended({ outcome, code, requestUnits, rejection, method, params });
  if (context === undefined) return;
  const { access } = context;
  const reason = rejection === undefined ? outcome : usageReasonOf(rejection);
  const error = isError(outcome) ? reason : undefined;
  served?.usage.add(access.record.id, requestUnits, error, bytes, access.token !== undefined);
}

/** The permission, limit or bound that rejects a request, else the reason: never text that a caller sent. */
export function usageReasonOf({ rule, reason }: RpcError): string {
  return rule === undefined ? reason : ruleNameOf(rule);
}

function isError(outcome: string): boolean {
  return outcome !== 'result' && outcome !== 'null' && outcome !== 'notification' && outcome !== 'caller-left';
}
