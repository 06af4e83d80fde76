import type { NetworkResponse } from '../cache/response-cache.ts';
import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { blocksIn, type BlockRange } from '../ranges/pending-ranges.ts';
import { readRangeFilter, type RangeFilter } from '../ranges/range-filter.ts';
import { MAX_PARTS } from '../ranges/range-limits.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import { SentRange } from '../ranges/sent-range.ts';
import { rangeOf } from '../spec/count-params.ts';
import { complete } from '../upstreams/transport/flowing-result.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, CallContext } from './call.ts';
import { RangeCall } from './range-call.ts';
import { requestInParts } from './range-run.ts';

/**
 * Sends a call with a range of blocks as it is while an upstream allows its range, and in parts otherwise.
 * @throws RpcError, Cancelled (rejects with it)
 */
export async function requestRange(call: Call, context: CallContext, ranged: RangedMethod): Promise<NetworkResponse> {
  const request = new RangeCall(call, context);
  const response = await requestWholeOrParts(request, ranged);
  if (call.verification === undefined) return response;
  return { ...complete(response), proof: request.proof ?? 'no' };
}

async function requestWholeOrParts(request: RangeCall, ranged: RangedMethod): Promise<NetworkResponse> {
  const { spec, head, limits } = ranged;
  const { params, record } = request.call;
  // The call as a whole is not: its parts may be.
  record?.cached('not-cacheable');
  const filter = readRangeFilter(spec, params);
  if (filter === undefined) return request.sendWhole(undefined);
  const estimate = rangeOf(params[spec.splits ?? 0], head());
  const range = { from: Number(estimate?.from ?? 0n), to: Number(estimate?.to ?? 0n) };
  checkParts(range, request, ranged);
  const first = firstFor(range, filter, request, ranged);
  if (first === 'none') return requestInParts(ranged, request, filter, undefined);
  try {
    return await request.sendWhole(new SentRange(range, first, limits, filter));
  } catch (error) {
    if (!(error instanceof RpcError) || error.reason !== 'request-too-large') throw error;
    checkParts(range, request, ranged);
    return requestInParts(ranged, request, filter, error);
  }
}

/** @throws RpcError if the range has too many parts of the width that is known */
function checkParts(range: BlockRange, request: RangeCall, { limits }: RangedMethod): void {
  if (limits.isEmpty || !limits.isSettled || blocksIn(range) <= MAX_PARTS) return;
  const candidates = request.candidatesFor(range.from, range.to);
  if (candidates.length > 0) limits.checkParts(candidates, range, clock.now());
}

/** The first upstream that allows the range. Undefined: by the ranking alone; `none`: no upstream allows it. */
function firstFor(
  range: BlockRange,
  filter: RangeFilter,
  request: RangeCall,
  { limits }: RangedMethod,
): Upstream | 'none' | undefined {
  if (limits.isEmpty || blocksIn(range) < 2) return undefined;
  const candidates = request.candidatesFor(range.from, range.to);
  if (candidates.length === 0) return undefined;
  const now = clock.now();
  return candidates.find((one) => limits.widestFor(one, filter.key, now) >= blocksIn(range)) ?? 'none';
}
