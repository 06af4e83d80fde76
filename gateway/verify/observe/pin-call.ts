import { blockInResult } from '../../cache/block-in-result.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { blocksNamedBy, hashNamedBy } from '../../upstreams/available-blocks.ts';
import type { AuditedResponse } from './compare-responses.ts';

/**
 * How a repeated call names its block.
 * - `exact`: as it is; the parameters or both results name the block by hash
 * - `by-hash`: by the hash of the block `number`, in the parameter at `param` (EIP-1898)
 * - `by-number`: by numbers, of which `number` is the highest; its header must be the same on both sides
 */
export type PinnedCall =
  | { readonly kind: 'exact'; readonly params: readonly unknown[] }
  | { readonly kind: 'by-hash'; readonly params: readonly unknown[]; readonly param: number; readonly number: bigint }
  | { readonly kind: 'by-number'; readonly params: readonly unknown[]; readonly number: bigint };

/** Whether the result of a method is a function of its parameters and of one block, the same on all nodes. */
export function isAuditable({ handledBy, isPassThrough, sends, cache, splits, isUnaudited }: MethodSpec): boolean {
  if (handledBy !== undefined || isPassThrough === true || sends === true || isUnaudited === true) return false;
  return splits !== undefined || (cache !== undefined && cache !== 'head');
}

/**
 * Pins a call to a block that two upstreams have.
 * @param response of the first upstream: the block that it names is used
 * @param newest the newest block that both upstreams have, for tags; undefined: not known
 * @returns undefined if the block cannot be named: it is pending, or not known
 */
export function pinCall(
  method: MethodSpec,
  params: readonly unknown[],
  response: AuditedResponse,
  newest: bigint | undefined,
): PinnedCall | undefined {
  const { blockAt, cache, splits, hashParams } = method;
  if (cache === 'result' || hashNamedBy(method, params) !== undefined) return { kind: 'exact', params };
  const blocks = blocksNamedBy(method, params);
  if (blockAt === undefined || blocks === undefined) return undefined;
  const { param } = blockAt;
  const given = params[param];
  if (isPending(given)) return undefined;
  const named = splits === undefined && response.kind === 'result' ? blockInResult(response)?.number : undefined;
  const { tag, lowest, highest } = blocks;
  const number = named ?? (tag === undefined ? BigInt(highest) : newest);
  if (number === undefined) return undefined;
  if (splits !== undefined) {
    if (Number.isFinite(lowest) && lowest > Number(number)) return undefined;
    const fromBlock = Number.isFinite(lowest) ? hex(BigInt(lowest)) : hex(number);
    const filter = { ...(given as object | undefined), fromBlock, toBlock: hex(number) };
    return { kind: 'by-number', params: params.with(param, filter), number };
  }
  const filled = params.length > param ? params : [...params, hex(number)];
  // Results that name their block need no request for its hash.
  if (named === undefined && hashParams.includes(param)) return { kind: 'by-hash', params: filled, param, number };
  return { kind: 'by-number', params: filled.with(param, hex(number)), number };
}

/** The parameters of a call that is pinned by hash. */
export function withBlockHash(
  { params, param }: { params: readonly unknown[]; param: number },
  blockHash: string,
): readonly unknown[] {
  return params.with(param, { blockHash });
}

/** Within the gas caps of all nodes, and enough for most calls. One that needs more gets an error, which is not compared. */
const MAX_GAS = 10_000_000n;

/** The parameters with a gas limit. Above its own gas cap, or without a limit, a node uses the cap, which the result may show. */
export function withGas({ gasAt = [] }: MethodSpec, params: readonly unknown[]): readonly unknown[] {
  const place = gasAt.find(({ path }) => path.length === 1 && path[0] === 'gas');
  const call = place === undefined ? undefined : params[place.param];
  if (place === undefined || typeof call !== 'object' || call === null) return params;
  const { gas } = call as { readonly gas?: unknown };
  if (typeof gas === 'string' && BigInt(gas) <= MAX_GAS) return params;
  return params.with(place.param, { ...call, gas: hex(MAX_GAS) });
}

function isPending(block: unknown): boolean {
  if (typeof block !== 'object' || block === null) return block === 'pending';
  const { fromBlock, toBlock } = block as { readonly fromBlock?: unknown; readonly toBlock?: unknown };
  return fromBlock === 'pending' || toBlock === 'pending';
}

function hex(number: bigint): string {
  return `0x${number.toString(16)}`;
}
