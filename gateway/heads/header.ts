/** A block header: the fields that following the chain needs, and the whole header as received. */
export interface Header {
  readonly number: bigint;
  /** Lower case. */
  readonly hash: string;
  /** Lower case. */
  readonly parentHash: string;
  /** As in a newHeads notification: without transactions, uncles, withdrawals, size, totalDifficulty. */
  readonly block: Readonly<Record<string, unknown>>;
  /** Parsed from a block, not from a newHeads notification, which may have more members. */
  readonly isFromBlock: boolean;
}

/** Members of a block that geth's newHeads omits: it sends `types.Header` (geth, eth/filters/api.go, `NewHeads`). */
const blockOnlyFields = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty']);

const HASH = /^0x[0-9a-f]{64}$/i;

/** Parses a block or a newHeads notification. Undefined if number, hash or parent is missing. */
export function parseHeader(value: unknown): Header | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { number, hash, parentHash } = value as Record<string, unknown>;
  const blockNumber = parseQuantity(number);
  if (blockNumber === undefined || !isHash(hash) || !isHash(parentHash)) return undefined;
  const block = Object.fromEntries(Object.entries(value).filter(([name]) => !blockOnlyFields.has(name)));
  const isFromBlock = 'transactions' in value;
  return { number: blockNumber, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase(), block, isFromBlock };
}

/** Parses a quantity, which some nodes write as a JSON number. */
export function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}
