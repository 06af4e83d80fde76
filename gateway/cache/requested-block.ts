import type { CacheRule } from '../spec/method-spec.ts';

/** The block that a call reads, as far as its parameters name it. */
export type RequestedBlock =
  | { readonly kind: 'head' }
  | { readonly kind: 'number'; readonly number: bigint }
  | { readonly kind: 'hash'; readonly hash: string }
  | { readonly kind: 'in-result' }
  /** Tag pending, safe or finalized: responses for these tags are not cached. */
  | { readonly kind: 'none' };

const head = { kind: 'head' } as const;
const none = { kind: 'none' } as const;
const inResult = { kind: 'in-result' } as const;

/** @param params validated, with hashes in lower case */
export function requestedBlockOf(rule: CacheRule, params: readonly unknown[]): RequestedBlock {
  if (rule === 'head') return head;
  if (rule === 'result') return inResult;
  const param = params[rule.param];
  if (typeof param === 'string') return parseBlockParam(param);
  // EIP-1898.
  const { blockHash, blockNumber } = (param ?? {}) as { blockHash?: unknown; blockNumber?: unknown };
  if (typeof blockHash === 'string') return parseBlockParam(blockHash);
  return typeof blockNumber === 'string' ? parseBlockParam(blockNumber) : head;
}

function parseBlockParam(text: string): RequestedBlock {
  if (text === 'latest') return head;
  if (text === 'earliest') return { kind: 'number', number: 0n };
  if (!text.startsWith('0x')) return none;
  return text.length === 66 ? { kind: 'hash', hash: text } : { kind: 'number', number: BigInt(text) };
}
