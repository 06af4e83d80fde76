import { RLP } from '@ethereumjs/rlp';
import { hashOf, isAbsent, isSameHex, isSameQuantity } from './hex.ts';

/** `unknown-form`: the header may have members that are hashed and not known here. */
export type HeaderCheck = 'verified' | 'mismatch' | 'unknown-form';

type Block = Readonly<Record<string, unknown>>;

/**
 * The members of a header in the order in which they are hashed (geth v1.17.5, core/types/block.go). Those with a fork were
 * added by it; a header without one has none of the later ones.
 */
const members: readonly { readonly name: string; readonly kind: 'bytes' | 'number'; readonly fork?: string }[] = [
  { name: 'parentHash', kind: 'bytes' },
  { name: 'sha3Uncles', kind: 'bytes' },
  { name: 'miner', kind: 'bytes' },
  { name: 'stateRoot', kind: 'bytes' },
  { name: 'transactionsRoot', kind: 'bytes' },
  { name: 'receiptsRoot', kind: 'bytes' },
  { name: 'logsBloom', kind: 'bytes' },
  { name: 'difficulty', kind: 'number' },
  { name: 'number', kind: 'number' },
  { name: 'gasLimit', kind: 'number' },
  { name: 'gasUsed', kind: 'number' },
  { name: 'timestamp', kind: 'number' },
  { name: 'extraData', kind: 'bytes' },
  { name: 'mixHash', kind: 'bytes' },
  { name: 'nonce', kind: 'bytes' },
  { name: 'baseFeePerGas', kind: 'number', fork: 'London, EIP-1559' },
  { name: 'withdrawalsRoot', kind: 'bytes', fork: 'Shanghai, EIP-4895' },
  { name: 'blobGasUsed', kind: 'number', fork: 'Cancun, EIP-4844' },
  { name: 'excessBlobGas', kind: 'number', fork: 'Cancun, EIP-4844' },
  { name: 'parentBeaconBlockRoot', kind: 'bytes', fork: 'Cancun, EIP-4788' },
  { name: 'requestsHash', kind: 'bytes', fork: 'Prague, EIP-7685' },
  { name: 'blockAccessListHash', kind: 'bytes', fork: 'Amsterdam, EIP-7928' },
  { name: 'slotNumber', kind: 'number', fork: 'Amsterdam, EIP-7843' },
];

/** Members of block objects that are not hashed as they are. With any other one, the form is not known. */
const unhashed = new Set(['hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals', 'author']);
const hashed = new Set(members.map(({ name }) => name));
const known = new Set([...hashed, ...unhashed]);

/** The members of a block object that its hash proves. @param block that has its hash */
export function hashedMembers(block: Block): Block {
  return Object.fromEntries(Object.entries(block).filter(([name]) => name === 'hash' || hashed.has(name)));
}

/** Whether the `hash` of a block object is that of its other members. @param block with any spelling of quantities */
export function checkHeader(block: Block): HeaderCheck {
  const { hash } = block;
  const encoded = encodeHeader(block);
  if (encoded === undefined || typeof hash !== 'string') return 'unknown-form';
  if (hashOf(encoded) === hash.toLowerCase()) return 'verified';
  const isKnown = Object.entries(block).every(([name, value]) => isAbsent(value) || known.has(name));
  return isKnown ? 'mismatch' : 'unknown-form';
}

/** The number of its members that are hashed. Each fork has those of the forks before it, and more. */
export function formOf(block: Block): number {
  const end = members.findIndex(({ name }) => isAbsent(block[name]));
  return end === -1 ? members.length : end;
}

/** The bytes that are hashed. Undefined: it does not have the members of any fork, which has all those of the forks before it. */
export function encodeHeader(block: Block): Uint8Array | undefined {
  const form = members.slice(0, formOf(block));
  if (form.length < unconditional || members.some(({ name }, at) => at > form.length && !isAbsent(block[name])))
    return undefined;
  const items: (bigint | Buffer)[] = [];
  for (const { name, kind } of form) {
    const value = block[name];
    if (typeof value !== 'string' || !/^0x[0-9a-f]*$/i.test(value)) return undefined;
    if (kind === 'number' ? value === '0x' : value.length % 2 === 1) return undefined;
    items.push(kind === 'number' ? BigInt(value) : Buffer.from(value.slice(2), 'hex'));
  }
  return RLP.encode(items);
}

const unconditional = members.findIndex(({ fork }) => fork !== undefined);

/**
 * Whether a block object has the hashed members of a header, and none of a later fork. Undefined: it lacks some, as those of older
 * nodes do, or has zeros for those of a later fork.
 */
export function hasHeader(block: Block, header: Block): boolean | undefined {
  const hashed = members.filter(({ name }) => !isAbsent(header[name]));
  const present = hashed.filter(({ name }) => !isAbsent(block[name]));
  const isLike = present.every(({ name, kind }) =>
    kind === 'number' ? isSameQuantity(block[name], header[name]) : isSameHex(block[name], header[name]),
  );
  const later = members.filter(({ name }) => isAbsent(header[name]) && !isAbsent(block[name]));
  if (!isLike || later.some(({ name }) => !/^0x0*$/.test(String(block[name])))) return false;
  return later.length === 0 && present.length === hashed.length ? true : undefined;
}
