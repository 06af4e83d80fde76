import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** The block that a result is, or is in. */
export interface BlockInResult {
  readonly hash: string;
  readonly number: bigint;
}

/** @returns undefined where it says nothing of a block, or that it is pending */
export function blockInResult(response: UpstreamResponse): BlockInResult | undefined {
  if (response.kind === 'large') return blockInBytes(response.parts[0]);
  if (response.kind !== 'result') return undefined;
  // Of a block's receipts, the first tells of all.
  const result: unknown = Array.isArray(response.result) ? response.result[0] : response.result;
  const { hash, number, blockHash = hash, blockNumber = number } = (result ?? {}) as Record<string, unknown>;
  return blockOf(blockHash, blockNumber);
}

/**
 * As nodes write it, without spaces. What is in a block tells of it by `blockHash` and `blockNumber`, and a block without
 * such things has no other `hash` and `number` than its own.
 */
function blockInBytes(bytes: Buffer): BlockInResult | undefined {
  return blockOf(
    textAfter('"blockHash":"', bytes) ?? textAfter('"hash":"', bytes),
    textAfter('"blockNumber":"', bytes) ?? textAfter('"number":"', bytes),
  );
}

function textAfter(name: string, bytes: Buffer): string | undefined {
  const start = bytes.indexOf(name) + name.length;
  if (start < name.length) return undefined;
  return bytes.toString('latin1', start, Math.min(bytes.indexOf('"', start), start + 66));
}

function blockOf(hash: unknown, number: unknown): BlockInResult | undefined {
  if (typeof hash !== 'string' || !/^0x[0-9a-f]{64}$/i.test(hash)) return undefined;
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return { hash: hash.toLowerCase(), number: BigInt(number) };
}
