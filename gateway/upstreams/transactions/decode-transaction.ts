import { RLP, type Input, type NestedUint8Array } from '@ethereumjs/rlp';
import type * as Curve from '@noble/curves/secp256k1.js';
import { keccak256 } from '../../collections/keccak.ts';
import { loadPackage } from '../../config/load-package.ts';

/** Loaded with the first transaction: it costs 1 MB and 30 ms. */
const curve = (): typeof Curve => loadPackage('@noble/curves/secp256k1.js') as typeof Curve;

/** What the parameter of `eth_sendRawTransaction` contains. */
export interface Transaction {
  /** The transaction hash on every node. */
  readonly hash: string;
  readonly nonce: bigint;
  /** Recovers the sender from the signature, in lower case, in 1.4 ms. Undefined if the signature is malformed. */
  sender(): string | undefined;
}

/**
 * List members by type byte, including the three of the signature at the end. 0 is the legacy transaction, which has no
 * type byte (EIP-155, 2930, 1559, 4844, 7702).
 */
const memberCounts: ReadonlyMap<number, number> = new Map([
  [0, 9],
  [1, 11],
  [2, 12],
  [3, 14],
  [4, 13],
]);
const BLOB = 3;

/** First byte of a list in RLP, and of legacy transactions. */
const FIRST_LIST_BYTE = 0xc0;

/**
 * @param raw hexadecimal with 0x
 * @returns undefined for malformed bytes and for unknown types: zkSync Era's type 0x71, for example, has other rules
 */
export function decodeTransaction(raw: string): Transaction | undefined {
  const bytes = Buffer.from(raw.slice(2), 'hex');
  const [first = 0] = bytes;
  const isLegacy = first >= FIRST_LIST_BYTE;
  const count = memberCounts.get(isLegacy ? 0 : first);
  if (count === undefined || (first === 0 && !isLegacy)) return undefined;
  const typeByte = isLegacy ? Buffer.alloc(0) : bytes.subarray(0, 1);
  const whole = decodeList(bytes.subarray(typeByte.length));
  // A blob transaction may be the first member of a list with its blobs, which are not hashed (EIP-4844).
  const members = first === BLOB && Array.isArray(whole?.[0]) ? whole[0] : whole;
  if (members?.length !== count) return undefined;
  const hashOf = (list: Input): Uint8Array => keccak256(Buffer.concat([typeByte, RLP.encode(list)]));
  return {
    hash: hex(hashOf(members)),
    // It is after the chain id, which a legacy transaction does not have.
    nonce: toBigInt(members[isLegacy ? 0 : 1]) ?? 0n,
    sender: () => recoverSender(members, isLegacy, hashOf),
  };
}

function decodeList(bytes: Uint8Array): NestedUint8Array | undefined {
  try {
    const decoded = RLP.decode(bytes);
    return Array.isArray(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** The sender signed the hash of the list without the signature. */
function recoverSender(
  members: NestedUint8Array,
  isLegacy: boolean,
  hashOf: (list: Input) => Uint8Array,
): string | undefined {
  const [v, r, s] = members.slice(-3).map(toBigInt);
  if (v === undefined || r === undefined || s === undefined) return undefined;
  // EIP-155: v is 35 + 2 × chain id + parity. The signed list has the chain id and two zeros in place of the signature.
  const isReplayProtected = isLegacy && v >= 35n;
  const unsigned = [...members.slice(0, -3), ...(isReplayProtected ? [(v - 35n) / 2n, 0, 0] : [])];
  const parity = isReplayProtected ? (v - 35n) % 2n : isLegacy ? v - 27n : v;
  try {
    const key = new (curve().secp256k1.Signature)(r, s, Number(parity))
      .recoverPublicKey(hashOf(unsigned))
      .toBytes(false);
    return hex(keccak256(key.subarray(1)).subarray(12));
  } catch {
    return undefined; // not a point of the curve: nodes reject it too
  }
}

/** @returns undefined for a list */
function toBigInt(item: NestedUint8Array[number] | undefined): bigint | undefined {
  if (!(item instanceof Uint8Array)) return undefined;
  return item.length === 0 ? 0n : BigInt(hex(item));
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
