/** A block that an upstream reported. */
export interface Block {
  readonly number: bigint;
  /** Gas limit; 0: the block has no usable one. Undefined: only its number is known. */
  readonly gasLimit?: bigint | undefined;
  /** Unix time in seconds, from the block. */
  readonly timestamp?: bigint | undefined;
  readonly header?: Header | undefined;
}

/** The newest block of an upstream, from a poll, a notification or a response to a caller. */
export interface SeenHead extends Block {
  /** Time of the response or notification, by clock.now(). */
  readonly at: number;
}

/** A block header: the fields that following the chain needs, and its members, of bounded length. */
export interface Header {
  readonly number: bigint;
  /** Hash in lower case. */
  readonly hash: string;
  /** Hash of the parent in lower case. */
  readonly parentHash: string;
  /** Members as in a newHeads notification: without transactions, uncles, withdrawals, size, totalDifficulty. */
  readonly block: Readonly<Record<string, unknown>>;
  /** Whether the header was parsed from a block, not from a newHeads notification, which may have more members. */
  readonly isFromBlock: boolean;
}

/** Members of a block that geth's newHeads omits: it sends `types.Header` (geth, eth/filters/api.go, `NewHeads`). */
const blockOnlyFields = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty']);

/** Members of geth's header (core/types/gen_header_json.go, internal/ethapi/api.go). Others are those of L2s. */
const headerFields = new Set([
  ...['number', 'hash', 'parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot'],
  ...['logsBloom', 'difficulty', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce', 'baseFeePerGas'],
  ...['withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
  ...['blockAccessListHash', 'slotNumber'],
]);

/** Limit for a header as JSON. 512 headers of a network are retained. The extra data of bor has up to tens of kB. */
const MAX_HEADER_CHARS = 64_000;
/** Limit for any other member. Longer ones of L2s are left out. */
const MAX_MEMBER_CHARS = 4_000;

const HASH = /^0x[0-9a-f]{64}$/i;

/** Parses a block or a newHeads notification. Undefined if it has no number. */
export function parseBlock(value: unknown): (Block & { readonly gasLimit: bigint }) | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const block = value as Record<string, unknown>;
  const number = parseQuantity(block['number']);
  if (number === undefined) return undefined;
  const gasLimit = parseQuantity(block['gasLimit']) ?? 0n;
  return { number, gasLimit, timestamp: parseQuantity(block['timestamp']), header: parseHeader(value) };
}

/**
 * Parses a block or a newHeads notification. Undefined if number, hash or parent is missing, or if the header is longer than
 * `MAX_HEADER_CHARS`.
 */
export function parseHeader(value: unknown): Header | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { number, hash, parentHash } = value as Record<string, unknown>;
  const blockNumber = parseQuantity(number);
  if (blockNumber === undefined || !isHash(hash) || !isHash(parentHash)) return undefined;
  const block = boundedMembers(value as Record<string, unknown>);
  if (block === undefined) return undefined;
  const isFromBlock = 'transactions' in value;
  return { number: blockNumber, hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase(), block, isFromBlock };
}

/** The members of a header. Those of L2s are left out if they are too long. Undefined: the others are too long. */
function boundedMembers(value: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const members = Object.entries(value).filter(([name]) => !blockOnlyFields.has(name));
  let chars = 0;
  for (const [name, member] of members) {
    if (!headerFields.has(name)) continue;
    const ownChars = charsOf(member, name === 'extraData' ? MAX_HEADER_CHARS : MAX_MEMBER_CHARS);
    if (ownChars === undefined) return undefined;
    chars += name.length + ownChars;
  }
  if (chars > MAX_HEADER_CHARS) return undefined;
  const bounded = members.filter(([name, member]) => {
    if (headerFields.has(name)) return true;
    const ownChars = charsOf(member, MAX_MEMBER_CHARS - name.length);
    if (ownChars === undefined || chars + name.length + ownChars > MAX_HEADER_CHARS) return false;
    chars += name.length + ownChars;
    return true;
  });
  return Object.fromEntries(bounded);
}

/** The approximate length of a value as JSON. Undefined: it is above the limit, and not read further. */
function charsOf(value: unknown, max: number): number | undefined {
  let chars = typeof value === 'string' ? value.length + 4 : 10;
  if (typeof value === 'object' && value !== null)
    for (const name in value) {
      const ownChars = charsOf((value as Record<string, unknown>)[name], max - chars - name.length);
      if (ownChars === undefined) return undefined;
      chars += name.length + ownChars;
    }
  return chars > max ? undefined : chars;
}

/** Parses a quantity, which some nodes write as a JSON number. */
export function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;
}

/** Whether a value is a hash, or a topic: 32 bytes in hexadecimal. */
export function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}
