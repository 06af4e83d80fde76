import { clock } from '../clock/clock.ts';
import { blockInResult } from '../cache/block-in-result.ts';
import type { ServedBlock } from '../chain/chain.ts';
import type { ChainView } from '../chain/view.ts';
import { isOld } from '../routing-policy/candidate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy, hashNamedBy } from '../upstreams/available-blocks.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';

/*
 * Monotonic reads: callers are not served an older `latest`, `safe` or `finalized` block than before while an upstream has a
 * newer one. What they were served is in the view of the chain; these functions compare a call and its response with that.
 */

/** The parts of a call that name its blocks. */
export type ReadCall = Pick<Call, 'method' | 'params' | 'blocks' | 'pinned' | 'sentAt'>;

/** Types of results that name their block. An uncle has a number of its own. */
const typesWithBlock: ReadonlySet<string | undefined> = new Set(['Block', 'Header', 'Transaction', 'Receipt']);

/** Whether the result names the block that the call asks for. */
export function namesItsBlock({ resultType }: MethodSpec): boolean {
  return typesWithBlock.has(resultType);
}

/** Whether the response to a call for a tag is older than the newest served block of that tag. */
export function isOlderThanServed(
  view: ChainView<Upstream>,
  { method, params, blocks, pinned }: ReadCall,
  response: UpstreamResponse,
): boolean {
  const tag = blocks?.tag;
  if (tag === undefined || !namesItsBlock(method) || params[0] === 'pending') return false;
  const number = blockInResult(response)?.number;
  if (number === undefined) return false;
  return number < (pinned?.number ?? (tag === 'latest' ? view.newestServed : view.newestOf(tag)));
}

/** Raises the number of the head in a response to the newest served block, if that is higher. One that is proven stays. */
export function raiseToServed(
  { newestServed }: ChainView<Upstream>,
  { method, pinned }: Pick<ReadCall, 'method' | 'pinned'>,
  response: UpstreamResponse,
): UpstreamResponse {
  const number = method.resultIs === 'head-number' && pinned === undefined ? headIn(response)?.number : undefined;
  if (number === undefined || number >= newestServed) return response;
  return { kind: 'result', result: `0x${newestServed.toString(16)}` };
}

/**
 * Whether blocks that another worker has served since may change the result. Not that of a transaction that is sent, nor one
 * without nulls at numbers up to the newest served block.
 */
export function dependsOnServed(
  { newestServed }: ChainView<Upstream>,
  { method, params }: Pick<ReadCall, 'method' | 'params'>,
): boolean {
  if (method.sends === true) return false;
  const blocks = method.nullable ? undefined : blocksNamedBy(method, params);
  if (blocks === undefined || blocks.tag !== undefined) return true;
  return Math.max(blocks.lowest, blocks.highest) > Number(newestServed);
}

/**
 * How callers were served the block or transaction of the call, so that null would be wrong. `canonical`: its block is one of the
 * newest blocks now; `replaced`: it is not, or is older; `known`: they were not, but its block is at or below one that was served.
 */
export function servedAs(view: ChainView<Upstream>, call: ReadCall): 'canonical' | 'replaced' | 'known' | undefined {
  const { method, params, blocks = blocksNamedBy(method, params) } = call;
  if (!isNullWrong(call)) return undefined;
  const block = servedBlockOf(view, call);
  if (block !== undefined) return view.has(block) ? 'canonical' : 'replaced';
  if (!returnsBlock(method)) return undefined;
  const isServed = blocks !== undefined && blocks.highest >= 0 && blocks.highest <= Number(view.newestServed);
  return isServed || (typeof params[0] === 'string' && view.has(params[0])) ? 'known' : undefined;
}

/** Whether the result is a block, or all of its objects of one kind: with the block, every upstream has it. */
function returnsBlock({ shape, resultIs }: MethodSpec): boolean {
  return shape?.type === 'Block' || resultIs === 'block-objects';
}

/**
 * Whether a block of the call is known, by its number, by its hash or by that of a served transaction, and new: every upstream
 * will have it soon. Older ones may be missing for ever.
 */
export function isKnownNewBlock(view: ChainView<Upstream>, call: ReadCall): boolean {
  const { method, params, blocks = blocksNamedBy(method, params) } = call;
  const newest = Number(view.newestKnown);
  if (blocks !== undefined) return blocks.highest <= newest && !isOld(blocks.highest, newest);
  const hash = hashNamedBy(method, params);
  if (hash === undefined) return false;
  return (view.has(hash) && !looksUpTransaction(method)) || servedAs(view, call) === 'canonical';
}

/** Whether a null is wrong; false: the block may have no object at the index of the call, as is usual for uncles. */
function isNullWrong({ method, params }: ReadCall): boolean {
  return typeof params[1] !== 'string' && method.nullWhenUnsupported !== true;
}

/** The hash of the block that callers were served, or of which they were served the transaction, if the method looks up that kind. */
function servedBlockOf(view: ChainView<Upstream>, { method, params: [hash] }: ReadCall): string | undefined {
  if (typeof hash !== 'string' || hash.length !== 66) return undefined;
  const block = view.servedBlockOf(hash, clock.now());
  return (block === hash) === looksUpTransaction(method) ? undefined : block;
}

/** Whether the hash in the call is that of a transaction. Other lookups by hash name a block. */
function looksUpTransaction({ tracks }: MethodSpec): boolean {
  return tracks?.of === 'transaction';
}

/** The block whose number the response is. */
export function headIn(response: UpstreamResponse): ServedBlock | undefined {
  const number = response.kind === 'result' ? response.result : undefined;
  return typeof number === 'string' && /^0x[0-9a-f]{1,16}$/i.test(number) ? { number: BigInt(number) } : undefined;
}
