/** A block's header, as much of it as following the chain needs, and the rest as it came. */
export interface Header {
  readonly number: bigint;
  /** In lower case. */
  readonly hash: string;
  /** In lower case. */
  readonly parentHash: string;
  /** As newHeads gives it: without transactions, uncles, withdrawals, size, totalDifficulty. */
  readonly block: Readonly<Record<string, unknown>>;
  /** Read from a block, which has fewer members than a newHeads notification. */
  readonly isFromBlock: boolean;
}

/** What geth's newHeads leaves out of a block: it sends `types.Header` (geth, eth/filters/api.go, `NewHeads`). */
const blockOnlyFields = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty']);

const HASH = /^0x[0-9a-f]{64}$/i;

/** Of a block or of what newHeads tells. Undefined where it has no number, hash and parent. */
export function parseHeader(value: unknown): Header | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { number, hash, parentHash } = value as Record<string, unknown>;
  const blockNumber = parseQuantity(number);
  if (blockNumber === undefined || !isHash(hash) || !isHash(parentHash)) return undefined;
  const block = Object.fromEntries(Object.entries(value).filter(([name]) => !blockOnlyFields.has(name)));
  const isFromBlock = 'transactions' in value;
  return { number: blockNumber, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase(), block, isFromBlock };
}

/** Some nodes write quantities as JSON numbers. */
export function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}
