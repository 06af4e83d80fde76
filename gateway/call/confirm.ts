import { countValues, valuesOf, type FilterParams } from '../chain/logs/log-filter.ts';
import { LogsBloom } from '../chain/logs/logs-bloom.ts';
import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isRead } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { hashNamedBy } from '../upstreams/available-blocks.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { AttemptOutcome } from '../upstreams/outcome.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, Unconfirmed } from './call.ts';
import {
  isNullWrong,
  isOlderThanServed,
  raiseToServed,
  returnsBlock,
  selectNewer,
  servedAs,
} from './monotonic-reads.ts';
import type { Router } from './router.ts';

/** The bits of one value take 2 µs, and are cached: those of more values would replace the bits of others. */
const MAX_BLOOM_VALUES = 100;

/*
 * Some final responses need a second response from another upstream: blocks older than served ones, and some nulls (null
 * confirmation). geth with a short transaction index, and a node that lags, return null for objects that exist. With one
 * upstream, only what is older than served blocks is confirmed, by the same one.
 */

/**
 * With several workers: learns, once for a call, before a null or an error for a missing object is accepted whether another
 * worker has served the object.
 * @returns undefined: that is not needed
 */
export function learnServed(call: Call, outcome: AttemptOutcome): Promise<void> | undefined {
  const { router, method, params } = call;
  const { chain, options } = router;
  const [hash] = params;
  if (call.servedElsewhere !== undefined || method.looksUpHash !== true || typeof hash !== 'string') return undefined;
  if (options.confirmNull === 'never' || (isAlone(router) && options.isDevelopment) || !isNullWrong(call))
    return undefined;
  const isMissing = outcome.final
    ? outcome.response.kind !== 'flowing' && isAbsent(method, outcome.response)
    : outcome.failure === 'not-found' || outcome.failure === 'no-block';
  if (!isMissing || chain.view.has(hash) || servedAs(chain.view, call) === 'canonical') return undefined;
  return chain.servedElsewhere(hash, returnsBlock(method))?.then((blocks) => {
    call.servedElsewhere = blocks.find((block) => chain.view.has(block)) ?? blocks[0] ?? null;
  });
}

/**
 * The response for the caller: of two, the newer one. Undefined: the call needs the response of another upstream.
 * @throws RpcError if a pass-through call needs one, because it is not sent again
 */
export function confirm(
  call: Call,
  response: UpstreamResponse | FlowingResponse,
): UpstreamResponse | FlowingResponse | undefined {
  if (response.kind === 'flowing') return response;
  const { router, method, unconfirmed, respondingUpstream, sentAt } = call;
  const { view } = router.chain;
  if (isAlone(router) && router.options.isDevelopment) return response;
  if (respondingUpstream === undefined) return response;
  const newer = unconfirmed === undefined ? response : newerOf(call, unconfirmed.response, response);
  const isUnconfirmed =
    unconfirmed === undefined
      ? needsConfirmation(call, response, respondingUpstream, sentAt)
      : isOlderThanServed(view, call, newer) ||
        (!unconfirmed.isEvidence &&
          isUnsure(call, newer, respondingUpstream) &&
          // A second upstream has the same empty result for a block that may be old.
          !isEmptyOfUnknownHash(call, newer) &&
          (isAlone(router) || mayLag(router, respondingUpstream, sentAt) || servedAs(view, call) === 'canonical'));
  if (!isUnconfirmed) return raiseToServed(view, method, newer);
  if (method.isPassThrough === true) throw new RpcError('no-upstream');
  if (isAbsent(method, response) && isAtHead(call)) call.isMissingAtHead = true;
  const wasBehind = isBehind(router, respondingUpstream);
  call.unconfirmed = {
    response: newer,
    isEvidence: isUnsure(call, newer, respondingUpstream)
      ? !mayLag(router, respondingUpstream, sentAt) && servedAs(view, call) === undefined
      : !isOlderThanServed(view, call, newer),
    wasBehind,
    lackedUnknown: wasBehind && !knowsAllAbove(router, respondingUpstream),
  };
  pin(call);
  return undefined;
}

/** The response with the newer block. A pending transaction is newer than null. */
function newerOf({ method }: Call, one: UpstreamResponse, other: UpstreamResponse): UpstreamResponse {
  return isPending(method, one) && isEmptyResponse(method, other) ? one : selectNewer(one, other);
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
  const { response, isEvidence, lackedUnknown } = unconfirmed;
  if (!call.hasAttempt && candidates.some((upstream) => !tried.includes(upstream))) throw new RpcError('no-upstream');
  const isAccepted =
    isEvidence || (!lackedUnknown && isEmptyOfUnknownHash(call, response)) || router.options.isDevelopment;
  if (!isAccepted) throw new RpcError('no-upstream');
  return response;
}

/** Whether an empty result for the hash of a block, which may be old, stands: its upstream was not behind. */
export function isRightlyEmpty(call: Call, { response, wasBehind }: Unconfirmed): boolean {
  return !wasBehind && isEmptyOfUnknownHash(call, response);
}

function isEmptyOfUnknownHash(call: Call, response: UpstreamResponse): boolean {
  const hash = hashOfEmpty(call, response);
  if (hash === undefined || isAbsent(call.method, response)) return false;
  return call.router.chain.view.numberOf(hash) === undefined;
}

/** The hash by which the call names its block, if the result is empty: `[]`, `0x`, zero, or an object with only such values. */
function hashOfEmpty({ method, params }: Call, response: UpstreamResponse): string | undefined {
  const hash = hashNamedBy(method, params);
  return hash !== undefined && response.kind === 'result' && isEmpty(response.result) ? hash : undefined;
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
  const { confirmNull } = router.options;
  if (isOlder(call, response)) return true;
  if (isAlone(router) || response.kind !== 'result') return false;
  // A syncing status needs it too. `false` is enough: calls are sent to upstreams that are not behind.
  if (method.resultIs === 'sync-status') return response.result !== false;
  if (confirmNull === 'never') return false;
  if (method.isPassThrough === true)
    return isRead(method) && isAbsent(method, response) && mayLag(router, upstream, sentAt);
  if (mayMissLogs(call, response)) return true;
  if (!isUnsure(call, response, upstream)) return false;
  if (confirmNull === 'always' && method.looksUpHash === true && isEmptyResponse(method, response)) return true;
  return upstream.blocks.isMissingHistory || mayLag(router, upstream, sentAt);
}

/**
 * Whether the response is so old that its upstream may be tried again: several nodes may share its URL. A second null of the
 * same upstream is no evidence beside others.
 */
export function canRepeat(call: Call): boolean {
  const { router, unconfirmed, pinned } = call;
  if (unconfirmed === undefined || pinned !== undefined) return false;
  return isAlone(router)
    ? isOlder(call, unconfirmed.response)
    : isOlderThanServed(router.chain.view, call, unconfirmed.response);
}

/**
 * Whether a response is older than what callers were served: an older block for a tag, null for a served block, or a pending
 * transaction of a served block.
 */
function isOlder(call: Call, response: UpstreamResponse): boolean {
  const { router, method } = call;
  if (isOlderThanServed(router.chain.view, call, response)) return true;
  if (router.options.confirmNull === 'never' || !method.nullable || !isAbsent(method, response)) return false;
  return servedAs(router.chain.view, call) !== undefined;
}

/** Whether the upstream of the last outcome was at the head when it was asked. */
export function isAtHead({ router, respondingUpstream, sentAt }: Call): boolean {
  return respondingUpstream !== undefined && !mayLag(router, respondingUpstream, sentAt);
}

/** Whether the upstream's head was behind when it was asked, or may have been. */
function mayLag(router: Router, upstream: Upstream, sentAt: number): boolean {
  // What it returned before is no evidence.
  return isBehind(router, upstream) || router.chain.view.hasAdvancedSince(upstream, sentAt);
}

/** Whether the upstream's head is behind now, or may be. */
export function isBehind({ chain: { view } }: Router, upstream: Upstream): boolean {
  return upstream.isHeadUncertain || view.isLagging(upstream, clock.now());
}

/** Whether the hashes of all blocks above the head of the upstream are known: an unknown hash is none of those that it lacks. */
function knowsAllAbove({ chain: { view } }: Router, upstream: Upstream): boolean {
  const seen = view.headOf(upstream);
  if (seen === undefined || view.head === undefined || upstream.isHeadUncertain) return false;
  for (let number = view.head.number; number > seen.number; number--) if (view.at(number) === undefined) return false;
  return true;
}

function isAlone({ all }: Router): boolean {
  return all.length === 1;
}

/** Whether the response shows that no block has the object: there is none, or it is a pending transaction. */
export function isAbsent(method: MethodSpec, response: UpstreamResponse): boolean {
  return isEmptyResponse(method, response) || isPending(method, response);
}

/** Whether another upstream may have what this one does not have. */
function isUnsure(call: Call, response: UpstreamResponse, upstream: Upstream): boolean {
  return isAbsent(call.method, response) || mayMissBlock(call, response, upstream);
}

/** Whether the result may be empty because the upstream does not have the block, which the call names by its hash. */
function mayMissBlock(call: Call, response: UpstreamResponse, upstream: Upstream): boolean {
  const hash = hashOfEmpty(call, response);
  if (hash === undefined) return false;
  const { view } = call.router.chain;
  const number = view.numberOf(hash);
  return number === undefined || (view.headOf(upstream)?.number ?? number) < number;
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

/** Whether a value is zero, or has only such values, or none. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isEmpty);
  return typeof value === 'string' && /^0x0*$/.test(value);
}

/** Null, if the method may return it, or `0x`, which geth returns for a block or raw transaction that it lacks. */
function isEmptyResponse({ nullable, isPassThrough }: MethodSpec, response: UpstreamResponse): boolean {
  if (response.kind !== 'result' || (!nullable && isPassThrough !== true)) return false;
  return response.result === null || response.result === '0x';
}

/** A transaction without the hash of its block is always parsed (`blockHash` in normalise/results/field-rules.ts). */
function isPending({ shape }: MethodSpec, response: UpstreamResponse): boolean {
  if (shape?.type !== 'Transaction' || response.kind !== 'result') return false;
  return (response.result as { readonly blockHash?: unknown } | null)?.blockHash === null;
}
