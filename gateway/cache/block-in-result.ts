import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** The block that a result describes or belongs to. */
export interface BlockInResult {
  readonly hash: string;
  readonly number: bigint;
}

/**
 * @param at which element of a list: the first, or the last
 * @returns undefined if the result names no block, or is pending
 */
export function blockInResult(response: UpstreamResponse, at: 0 | -1 = 0): BlockInResult | undefined {
  if (response.kind === 'large') return blockInBytes(response.parts.at(at) ?? response.parts[0], at);
  if (response.kind !== 'result') return undefined;
  // All receipts of a block name the same block.
  const result: unknown = Array.isArray(response.result) ? response.result.at(at) : response.result;
  const { hash, number, blockHash = hash, blockNumber = number } = (result ?? {}) as Record<string, unknown>;
  return blockOf(blockHash, blockNumber);
}

/**
 * Searches the bytes, because parsing a large result is slow. Nodes write JSON without spaces. Objects in a block have
 * `blockHash` and `blockNumber`; without such objects, `hash` and `number` are the block's own.
 */
function blockInBytes(bytes: Buffer, at: 0 | -1): BlockInResult | undefined {
  return blockOf(
    textAfter('"blockHash":"', bytes, at) ?? textAfter('"hash":"', bytes, at),
    textAfter('"blockNumber":"', bytes, at) ?? textAfter('"number":"', bytes, at),
  );
}

function textAfter(name: string, bytes: Buffer, at: 0 | -1): string | undefined {
  const start = (at === 0 ? bytes.indexOf(name) : bytes.lastIndexOf(name)) + name.length;
  if (start < name.length) return undefined;
  return bytes.toString('latin1', start, Math.min(bytes.indexOf('"', start), start + 66));
}

function blockOf(hash: unknown, number: unknown): BlockInResult | undefined {
  if (typeof hash !== 'string' || !/^0x[0-9a-f]{64}$/i.test(hash)) return undefined;
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return { hash: hash.toLowerCase(), number: BigInt(number) };
}

/** An empty list of receipts may come from a node that does not have the block yet. */
export function isEmptyResult(result: unknown): boolean {
  return result === null || (Array.isArray(result) && result.length === 0);
}
