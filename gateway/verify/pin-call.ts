import { blockInResult } from '../cache/block-in-result.ts';
import { isObject } from '../collections/is-object.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy, hashNamedBy } from '../upstreams/available-blocks.ts';
import type { ComparedResponse } from './evidence/compare-responses.ts';
import { quantityOf } from './proofs/hex.ts';

/**
 * Name of the block in a repeated call.
 * - `exact`: as it is; the parameters or both results name the block by hash
 * - `by-hash`: by the hash of the block `number`, which replaces it (EIP-1898)
 * - `by-number`: by numbers, of which `number` is the highest; its header must be the same on both sides
 */
export type PinnedCall =
  | { readonly kind: 'exact'; readonly params: readonly unknown[] }
  | { readonly kind: 'by-hash' | 'by-number'; readonly params: readonly unknown[]; readonly number: bigint };

/** Whether the result of a method is a function of its parameters and of one block, the same on all nodes. */
export function isAuditable({ handledBy, isPassThrough, sends, cache, splits, isUnaudited }: MethodSpec): boolean {
  if (handledBy !== undefined || isPassThrough === true || sends === true || isUnaudited === true) return false;
  return splits !== undefined || (cache !== undefined && cache !== 'head');
}

/**
 * Pins a call that is repeated to a block that two upstreams have.
 * @param response of the first upstream: the block that it names is used
 * @param newest the newest block that both upstreams have, for tags; undefined: not known
 * @returns undefined if the block cannot be named: it is pending, or not known
 */
export function pinCall(
  method: MethodSpec,
  params: readonly unknown[],
  response: ComparedResponse,
  newest: bigint | undefined,
): PinnedCall | undefined {
  const { blockAt, cache, splits, hashParams } = method;
  if (cache === 'result' || hashNamedBy(method, params) !== undefined) return { kind: 'exact', params };
  const blocks = blocksNamedBy(method, params);
  const given = blockAt && params[blockAt.param];
  if (blockAt === undefined || blocks === undefined || isPending(given)) return undefined;
  const { tag, lowest, highest } = blocks;
  const named = splits === undefined && response.kind === 'result' ? blockInResult(response)?.number : undefined;
  const number = named ?? (tag === undefined ? BigInt(highest) : newest);
  if (number === undefined || (splits !== undefined && Number.isFinite(lowest) && lowest > Number(number)))
    return undefined;
  const from = Number.isFinite(lowest) ? BigInt(lowest) : number;
  const block =
    splits === undefined
      ? quantityOf(number)
      : { ...(given as object | undefined), fromBlock: quantityOf(from), toBlock: quantityOf(number) };
  // Results that name their block need no request for its hash.
  const isByHash = splits === undefined && named === undefined && hashParams.includes(blockAt.param);
  return { kind: isByHash ? 'by-hash' : 'by-number', params: withBlock(method, params, block), number };
}

/** The parameters with a block, or a range of blocks, in place of theirs. @param method with a parameter for its block */
export function withBlock({ blockAt }: MethodSpec, params: readonly unknown[], block: unknown): readonly unknown[] {
  const { param = 0 } = blockAt ?? {};
  return params.length > param ? params.with(param, block) : [...params, block];
}

/** Whether a block, or an end of a range, is the pending one. */
export function isPending(block: unknown): boolean {
  return isObject(block) ? block['fromBlock'] === 'pending' || block['toBlock'] === 'pending' : block === 'pending';
}

/** Gas within the caps of all nodes, and enough for most calls. One that needs more gets an error, which is not compared. */
const MAX_GAS = 10_000_000n;

/** The parameters with a gas limit. Above its own gas cap, or without a limit, a node uses the cap, which the result may show. */
export function withGas({ gasAt = [] }: MethodSpec, params: readonly unknown[]): readonly unknown[] {
  const place = gasAt.find(({ path }) => path.length === 1 && path[0] === 'gas');
  const call = place === undefined ? undefined : params[place.param];
  if (place === undefined || !isObject(call)) return params;
  const { gas } = call;
  if (typeof gas === 'string' && BigInt(gas) <= MAX_GAS) return params;
  return params.with(place.param, { ...call, gas: quantityOf(MAX_GAS) });
}
