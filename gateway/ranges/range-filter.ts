import { hash } from 'node:crypto';
import { RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { BlockRange } from './pending-ranges.ts';

/** The end of a range as text: a number, or a tag. */
type End = string;

/** The parameters of a call with a block range, taken apart. */
export interface RangeFilter {
  readonly fromBlock: End;
  readonly toBlock: End;
  /** Addresses of contracts, each once. Empty: all contracts, or no such member. */
  readonly addresses: readonly string[];
  /** Identifies the filter without its range. Calculated at its first use. */
  readonly key: string;
  /** The parameters for a part. @param addresses undefined: all of the filter */
  paramsOf(range: BlockRange, addresses: readonly string[] | undefined): readonly unknown[];
}

const END = /^(?:0x[0-9a-f]{1,13}|latest|safe|finalized|earliest)$/i;

/** Members with which the lists of two parts do not add up to that of both ranges. */
const paging = ['after', 'count'];

/**
 * @returns undefined if the call cannot be split: it has one block by its hash, pending blocks, or a page of a list
 * @throws RpcError
 */
export function readRangeFilter({ splits }: MethodSpec, params: readonly unknown[]): RangeFilter | undefined {
  const filter = splits === undefined ? undefined : params[splits];
  if (splits === undefined || typeof filter !== 'object' || filter === null) return undefined;
  const { fromBlock, toBlock, blockHash, ...rest } = filter as Readonly<Record<string, unknown>>;
  if (typeof blockHash === 'string' || paging.some((name) => (rest[name] ?? undefined) !== undefined)) return undefined;
  const [from, to] = [fromBlock ?? 'latest', toBlock ?? 'latest'];
  if (typeof from !== 'string' || typeof to !== 'string' || !END.test(from) || !END.test(to)) return undefined;
  const { address } = rest;
  let key: string | undefined;
  return {
    fromBlock: from,
    toBlock: to,
    addresses: Array.isArray(address) ? distinct(address) : [],
    get key() {
      return (key ??= hash('sha256', JSON.stringify(rest), 'base64url'));
    },
    paramsOf: (range, addresses) => {
      const part = { fromBlock: hex(range.from), toBlock: hex(range.to), ...rest };
      return params.with(splits, addresses === undefined ? part : { ...part, address: addresses });
    },
  };
}

/**
 * The case of an address is a checksum only. An address in two groups would have its logs twice.
 * @param addresses of a pass-through method, whose parameters are not validated, any values
 * @throws RpcError
 */
function distinct(addresses: readonly unknown[]): string[] {
  const all = new Map<string, string>();
  for (const address of addresses) {
    if (typeof address !== 'string')
      throw new RpcError('invalid-params', 'invalid params: address: expected 20-byte address');
    all.set(address.toLowerCase(), address);
  }
  return [...all.values()];
}

/** A block by its number or tag; undefined: there is none. */
export type FetchBlockOfCall = (
  block: string,
) => Promise<{ readonly number: number; readonly hash: string } | undefined>;

/** The range of a filter as numbers. */
export interface ResolvedRange extends BlockRange {
  /** The hash of its last block; undefined: it is final. */
  readonly hash: string | undefined;
}

/** Fixes the ends of a range to numbers. An upper end above the head means the head. The range may be empty. */
export async function resolveRange(
  { fromBlock, toBlock }: Pick<RangeFilter, 'fromBlock' | 'toBlock'>,
  fetch: FetchBlockOfCall,
  isFinal: (block: number) => boolean,
): Promise<ResolvedRange> {
  const to = numberOf(toBlock);
  const last =
    to !== undefined && isFinal(to)
      ? { number: to, hash: undefined }
      : ((await fetch(toBlock === 'earliest' ? '0x0' : toBlock)) ?? (await fetch('latest')));
  const from = numberOf(fromBlock) ?? (await fetch(fromBlock))?.number;
  // Without a block, the range is empty.
  return { from: from ?? 0, to: last?.number ?? -1, hash: last?.hash };
}

/** Number of a block; undefined: a tag whose block changes. */
function numberOf(block: string): number | undefined {
  if (block === 'earliest') return 0;
  return block.startsWith('0x') ? Number(block) : undefined;
}

export function hex(block: number): string {
  return `0x${block.toString(16)}`;
}
