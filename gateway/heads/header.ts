/** A block's header, as much of it as following the chain needs, and the rest as it came. */
export interface Header {
  readonly number: bigint;
  /** In lower case. */
  readonly hash: string;
  /** In lower case. */
  readonly parentHash: string;
  /** As newHeads gives it: without transactions, uncles, withdrawals, size, totalDifficulty. */
  readonly block: Readonly<Record<string, unknown>>;
}

/** What geth's newHeads leaves out of a block: it sends `types.Header` (geth, eth/filters/api.go, `NewHeads`). */
const notOfHeaders = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty']);

/**
 * Members that geth's newHeads has in every header, null where a fork has not brought them yet; blocks leave them out
 * then (geth 1.17.5, core/types/gen_header_json.go and internal/ethapi/api.go, `RPCMarshalHeader`).
 */
const nullInHeaders = [
  ...['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
  ...['blockAccessListHash', 'slotNumber'],
];

const HASH = /^0x[0-9a-f]{64}$/i;

/** Of a block or of what newHeads tells. Undefined where it has no number, hash and parent. */
export function readHeader(said: unknown): Header | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { number, hash, parentHash } = said as Record<string, unknown>;
  const read = readQuantity(number);
  if (read === undefined || !isHash(hash) || !isHash(parentHash)) return undefined;
  const block = Object.fromEntries(Object.entries(said).filter(([name]) => !notOfHeaders.has(name)));
  // What newHeads sent has no transactions: it is passed on with the members that it came with.
  if ('transactions' in said) for (const name of nullInHeaders) block[name] ??= null;
  return { number: read, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase(), block };
}

/** Some nodes write quantities as JSON numbers. */
export function readQuantity(said: unknown): bigint | undefined {
  if (typeof said === 'number') return Number.isSafeInteger(said) && said >= 0 ? BigInt(said) : undefined;
  return typeof said === 'string' && /^0x[0-9a-f]{1,64}$/i.test(said) ? BigInt(said) : undefined;
}

function isHash(said: unknown): said is string {
  return typeof said === 'string' && HASH.test(said);
}
