import { blockInResult } from '../cache/block-in-result.ts';
import { countValues, valuesOf, type FilterParams } from '../chain/logs/log-filter.ts';
import { LogsBloom } from '../chain/logs/logs-bloom.ts';
import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isRead } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { hashNamedBy } from '../upstreams/available-blocks.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, Unconfirmed } from './call.ts';
import { isOlderThanServed, namesItsBlock, raiseToServed, servedAs } from './monotonic-reads.ts';
import type { Router } from './router.ts';
import type { Rule } from './rules/rule.ts';

/** The bits of one value take 2 µs, and are cached: those of more values would replace the bits of others. */
const MAX_BLOOM_VALUES = 100;

/*
 * Some final responses need a second response from another upstream: blocks older than served ones, and some nulls (null
 * confirmation). geth with a short transaction index, and a node that lags, return null for objects that exist. With one
 * upstream, only what is older than served blocks is confirmed, by the same one.
 */

/** Confirmation for the methods whose result may be older than what callers were served, or lack what another upstream has. */
export function confirmation(method: MethodSpec, router: Router): Rule<Call> | undefined {
  const { nullable, resultIs, isPassThrough, blockAt } = method;
  if (router.isAlone && router.options.isDevelopment) return undefined;
  if (nullable || resultIs === 'head-number' || namesItsBlock(method)) return { confirm };
  if (router.isAlone) return undefined;
  if (isPassThrough === true || resultIs === 'logs' || resultIs === 'sync-status') return { confirm };
  if (blockAt === undefined) return undefined;
  // The result may be empty because the upstream does not have the block.
  return {
    confirm: (call, response) => (hashNamedBy(method, call.params) === undefined ? response : confirm(call, response)),
  };
}

/**
 * The response for the caller: of two, the newer one. Undefined: the call needs the response of another upstream.
 * @throws RpcError if a pass-through call needs one, because it is not sent again
 */
function confirm(
  call: Call,
  response: UpstreamResponse | FlowingResponse,
): UpstreamResponse | FlowingResponse | undefined {
  if (response.kind === 'flowing') return response;
  const { router, method, unconfirmed, respondingUpstream: upstream, sentAt } = call;
  const { view } = router.chain;
  if (upstream === undefined) return response;
  const newer = unconfirmed === undefined ? response : newerOf(call, unconfirmed.response, response);
  const isUnconfirmed =
    unconfirmed === undefined
      ? needsConfirmation(call, response, upstream, sentAt)
      : needsThird(call, newer, unconfirmed, upstream);
  if (!isUnconfirmed) return raiseToServed(view, call, newer);
  if (method.isPassThrough === true) throw new RpcError('no-upstream', noneCouldAnswer(call));
  if (isAbsent(method, response) && wasAtHead(call)) call.isMissingAtHead = true;
  const lacksNone = lackIn(call, newer, upstream) === undefined;
  call.unconfirmed = {
    response: newer,
    isEvidence: lacksNone
      ? !isOlderThanServed(view, call, newer)
      : wasAtHead(call) && servedAs(view, call) === undefined,
    blocksAbove: blocksAbove(router, upstream),
  };
  pin(call);
  return undefined;
}

/** Whether a second response is not enough either. A second upstream has the same empty result for a block that may be old. */
function needsThird(call: Call, newer: UpstreamResponse, { isEvidence }: Unconfirmed, upstream: Upstream): boolean {
  const { view } = call.router.chain;
  if (isOlderThanServed(view, call, newer)) return true;
  const isVerified = call.verification?.isWitnessed === true;
  if (isVerified && isEmptyResponse(call.method, newer) && mustConfirmNull(call) && hasOtherGroup(call)) return true;
  const lack = isEvidence ? undefined : lackIn(call, newer, upstream);
  if (lack === undefined || lack === 'unknown block') return false;
  return call.router.isAlone || !wasAtHead(call) || servedAs(view, call) === 'canonical';
}

/**
 * The response if the failure of an upstream that was asked to confirm it is enough. Undefined: the call needs the response of
 * another upstream.
 */
export function confirmByFailure(
  call: Call,
  { response, isEvidence, blocksAbove: above }: Unconfirmed,
  outcome: FailedOutcome,
): UpstreamResponse | undefined {
  const { router, method, params, irregular } = call;
  // An empty list is no better response than logs that are not in order, unless a second one confirms it.
  if (irregular === undefined) {
    if (isEvidence) return response;
    if (!isMissing(outcome) || hashNamedBy(method, params) === undefined || isAbsent(method, response)) {
      const isConfirmed = outcome.failure === 'not-found' && call.isMissingAtHead;
      return isConfirmed && servedAs(router.chain.view, call) !== 'canonical' ? response : undefined;
    }
    // The upstream that failed may not have the block because the block is old.
    if (above === 'none' && lackIn(call, response) === 'unknown block') return response;
    // The upstream of the empty result may not have had the block: the error is the better response.
    call.unconfirmed = undefined;
  }
  call.failed = [...call.failed, outcome];
  return undefined;
}

/** The response with the newer block. A pending transaction is newer than null. */
function newerOf({ method }: Call, one: UpstreamResponse, other: UpstreamResponse): UpstreamResponse {
  if (isPending(method, one) && isEmptyResponse(method, other)) return one;
  const number = blockInResult(one)?.number;
  return number !== undefined && (blockInResult(other)?.number ?? -1n) <= number ? one : other;
}

/** Names the newest served block in place of `safe` or `finalized`: a node that lags has that block, but not yet the tag. */
function pin(call: Call): void {
  const tag = call.blocks?.tag;
  const param = call.method.blockAt?.param;
  if (tag === undefined || tag === 'latest' || call.pinned !== undefined || param === undefined) return;
  const number = call.router.chain.view.newestOf(tag);
  if (number < 0n) return;
  const params = call.params.with(param, `0x${number.toString(16)}`);
  call.pinned = { number, params, text: JSON.stringify(params) };
  call.tried = call.tried.slice(0, -1);
}

/**
 * The response if no other upstream can confirm it.
 * @throws RpcError if it is older than what callers were served, or may be null although the object exists, or if only
 *   `maxAttempts` prevented its confirmation
 */
export function acceptUnconfirmed(call: Call, unconfirmed: Unconfirmed): UpstreamResponse {
  const { router, tried, candidates = router.all } = call;
  const { response, isEvidence, blocksAbove: above } = unconfirmed;
  if (!call.hasAttempt && candidates.some((upstream) => !tried.includes(upstream))) throw new RpcError('no-upstream');
  const isAccepted =
    isEvidence || (above !== 'unknown' && lackIn(call, response) === 'unknown block') || router.options.isDevelopment;
  if (!isAccepted) throw new RpcError('no-upstream');
  return response;
}

/** Whether a first response needs a second one. */
export function needsConfirmation(
  call: Call,
  response: UpstreamResponse | FlowingResponse,
  upstream: Upstream,
  sentAt: number,
): boolean {
  if (response.kind === 'flowing') return false;
  const { router, method } = call;
  const { view } = router.chain;
  const { confirmNull } = router.options;
  if (isOlderThanServed(view, call, response)) return true;
  const isNone = isAbsent(method, response);
  if (isNone && confirmNull !== 'never' && method.nullable && servedAs(view, call) !== undefined) return true;
  if (router.isAlone || response.kind !== 'result') return false;
  // A syncing status needs it too. `false` is enough: calls are sent to upstreams that are not behind.
  if (method.resultIs === 'sync-status') return response.result !== false;
  if (confirmNull === 'never') return false;
  if (method.isPassThrough === true) return isRead(method) && isNone && !wasAtHead(call, upstream, sentAt);
  if (mayMissLogs(call, response)) return true;
  if (lackIn(call, response, upstream) === undefined) return false;
  if (isEmptyResponse(method, response) && mustConfirmNull(call)) return true;
  return upstream.blocks.isMissingHistory || !wasAtHead(call, upstream, sentAt);
}

/** Whether each null is confirmed: of an object by its hash, and where results are proven, of a witnessed block, too. */
function mustConfirmNull({ router, method, params, verification, blocks }: Call): boolean {
  if (verification?.isWitnessed !== true) return router.options.confirmNull === 'always' && method.looksUpHash === true;
  if (method.looksUpHash === true || hashNamedBy(method, params) !== undefined) return true;
  const { witnesses, head } = router.chain.view;
  const number = witnesses.needed > 1 ? witnesses.block?.number : head?.number;
  return number !== undefined && blocks !== undefined && blocks.highest <= Number(number);
}

/** Whether all upstreams that were tried are of one group, and another group has one. */
function hasOtherGroup({ tried, router, candidates = router.all }: Call): boolean {
  const groups = new Set(tried.map(({ group }) => group));
  return groups.size === 1 && candidates.some(({ group }) => !groups.has(group));
}

/**
 * Whether the response is so old that its upstream may be tried again: several nodes may share its URL. A second null of the
 * same upstream is no evidence beside others.
 */
export function canRepeat(call: Call): boolean {
  const { router, unconfirmed, pinned } = call;
  if (unconfirmed === undefined || pinned !== undefined) return false;
  return router.isAlone || isOlderThanServed(router.chain.view, call, unconfirmed.response);
}

/** Whether the upstream was at the head when it was asked, by default that of the last outcome. Else its null is no evidence. */
export function wasAtHead(call: Call, upstream = call.respondingUpstream, sentAt = call.sentAt): boolean {
  const { router } = call;
  return upstream !== undefined && !isBehind(router, upstream) && !router.chain.view.hasAdvancedSince(upstream, sentAt);
}

/** Whether the upstream's head is behind now, or may be. */
export function isBehind({ chain: { view } }: Router, upstream: Upstream): boolean {
  return upstream.isHeadUncertain || view.isLagging(upstream, clock.now());
}

/** The blocks that the upstream may lack. An unknown hash is none of those that are `known` here. */
function blocksAbove(router: Router, upstream: Upstream): Unconfirmed['blocksAbove'] {
  const { view } = router.chain;
  if (!isBehind(router, upstream)) return 'none';
  const seen = view.headOf(upstream);
  if (seen === undefined || view.head === undefined || upstream.isHeadUncertain) return 'unknown';
  for (let number = view.head.number; number > seen.number; number--)
    if (view.at(number) === undefined) return 'unknown';
  return 'known';
}

/** Whether the response shows that no block has the object: there is none, or it is a pending transaction. */
export function isAbsent(method: MethodSpec, response: UpstreamResponse): boolean {
  return isEmptyResponse(method, response) || isPending(method, response);
}

/**
 * What the upstream may lack, so that another one has another response: the object, or the block that the call names by its hash,
 * of which an empty result says nothing. A block that is not known here may be old.
 */
function lackIn(
  { router, method, params }: Call,
  response: UpstreamResponse,
  upstream?: Upstream,
): 'object' | 'unknown block' | 'known block' | undefined {
  if (isAbsent(method, response)) return 'object';
  const hash = hashNamedBy(method, params);
  if (hash === undefined || response.kind !== 'result' || !isEmpty(response.result)) return undefined;
  const { view } = router.chain;
  const number = view.numberOf(hash);
  if (number === undefined) return 'unknown block';
  const head = upstream && view.headOf(upstream);
  return head !== undefined && head.number < number ? 'known block' : undefined;
}

/** Whether the upstream returned that it does not have the block or object. */
export function isMissing({ failure }: FailedOutcome): boolean {
  return failure === 'no-block' || failure === 'not-found';
}

/** The message if no response is usable. A call that may change something is not sent to all upstreams. */
export function noneCouldAnswer({ router, tried, candidates = router.all }: Call): string {
  const hasTriedAll = candidates.every((upstream) => tried.includes(upstream));
  return `${hasTriedAll ? 'no upstream' : `none of the ${tried.length} upstreams that were tried`} could answer`;
}

/**
 * Whether the list is empty although another upstream has logs that are not in order, or the bloom filter of its one block may
 * have logs of the filter.
 */
function mayMissLogs(call: Call, response: UpstreamResponse): boolean {
  const { method, params, blocks, router, hasAttempt } = call;
  if (method.resultIs !== 'logs' || method.splits === undefined) return false;
  if (response.kind !== 'result' || !Array.isArray(response.result) || response.result.length > 0) return false;
  if (call.irregular !== undefined) return true;
  if (!hasAttempt || blocks === undefined) return false;
  const { lowest, highest } = blocks;
  const header = lowest === highest && lowest >= 0 ? router.chain.view.at(BigInt(lowest)) : undefined;
  const filter = params[method.splits] as FilterParams;
  if (header === undefined || countValues(filter) > MAX_BLOOM_VALUES) return false;
  const values = valuesOf(filter);
  const bloom = new LogsBloom(header.block['logsBloom']);
  return values !== undefined && !bloom.isEmpty && bloom.mayMatch(values);
}

/** Whether a value is `0x` or zero, or has only such values, or none. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isEmpty);
  return typeof value === 'string' && /^0x0*$/.test(value);
}

/**
 * Whether a response is null, if the method may return it, or `0x`, which geth returns for a block or raw transaction that it
 * lacks.
 */
function isEmptyResponse({ nullable, isPassThrough }: MethodSpec, response: UpstreamResponse): boolean {
  if (response.kind !== 'result' || (!nullable && isPassThrough !== true)) return false;
  return response.result === null || response.result === '0x';
}

/** A transaction without the hash of its block is always parsed (`blockHash` in normalise/results/object-rules.ts). */
function isPending({ shape }: MethodSpec, response: UpstreamResponse): boolean {
  if (shape?.type !== 'Transaction' || response.kind !== 'result') return false;
  return (response.result as { readonly blockHash?: unknown } | null)?.blockHash === null;
}
