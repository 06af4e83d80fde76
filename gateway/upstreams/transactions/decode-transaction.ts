import { RLP } from '@ethereumjs/rlp';
import type * as Curve from '@noble/curves/secp256k1.js';
import { keccak256 } from '../../collections/keccak.ts';
import { loadPackage } from '../../config/load-package.ts';

/** Package that is loaded with the first transaction: it costs 1 MB and 30 ms. */
const curve = (): typeof Curve => loadPackage('@noble/curves/secp256k1.js') as typeof Curve;

/** First byte of an empty list in RLP, and the smallest of legacy transactions. */
const FIRST_LIST_BYTE = 0xc0;

/** Transaction in the parameter of `eth_sendRawTransaction`. */
export interface Transaction {
  /** The transaction hash on every node. */
  readonly hash: string;
  readonly nonce: bigint;
  /** Recovers the sender from the signature, in lower case, in 1.4 ms. Undefined if the signature is malformed. */
  sender(): string | undefined;
}

/**
 * List members by type byte, including the three of the signature at the end. 0 is the legacy transaction, which has no
 * type byte (EIP-155, 2930, 1559, 4844, 7702; CIP-64 of Celo).
 */
const memberCounts: ReadonlyMap<number, number> = new Map([
  [0, 9],
  [1, 11],
  [2, 12],
  [3, 14],
  [4, 13],
  [0x7b, 13],
]);
const BLOB = 3;

/**
 * @param raw hexadecimal with 0x
 * @returns undefined for malformed bytes and for unknown types: zkSync Era's type 0x71, for example, has other rules
 */
export function decodeTransaction(raw: string): Transaction | undefined {
  try {
    return decode(Buffer.from(raw.slice(2), 'hex'));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function decode(bytes: Buffer): Transaction | undefined {
  const first = byteAt(bytes, 0);
  const isLegacy = first >= FIRST_LIST_BYTE;
  const type = isLegacy ? 0 : first;
  const count = memberCounts.get(type);
  if (count === undefined || (first === 0 && !isLegacy)) return undefined;
  const typeByte = isLegacy ? Buffer.alloc(0) : bytes.subarray(0, 1);
  const whole = readItem(bytes, typeByte.length);
  if (!whole.isList || whole.end !== bytes.length) return undefined;
  const inner = readItem(bytes, whole.content);
  // A blob transaction may be the first member of a list with its blobs, which are not hashed (EIP-4844).
  const list = type === BLOB && inner.isList ? inner : whole;
  const members = readMembers(bytes, list);
  if (!list.isList || members.length !== count) return undefined;
  return {
    hash: hex(keccak256(Buffer.concat([typeByte, bytes.subarray(list.start, list.end)]))),
    nonce: readNonce(bytes, members[isLegacy ? 0 : 1]),
    sender: () => recoverSender(bytes, typeByte, members),
  };
}

/** Reads the nonce. It is after the chain id, which a legacy transaction does not have. */
function readNonce(bytes: Buffer, member: RlpItem | undefined): bigint {
  return member === undefined ? 0n : toBigInt(bytes.subarray(member.content, member.end));
}

/** The sender signed the hash of the list without the signature. */
function recoverSender(bytes: Buffer, typeByte: Buffer, members: readonly RlpItem[]): string | undefined {
  const [v, r, s] = members.slice(-3).map(({ content, end }) => toBigInt(bytes.subarray(content, end)));
  const [from, to] = [members[0]?.start, members.at(-3)?.start];
  if (v === undefined || r === undefined || s === undefined) return undefined;
  const unsigned: Uint8Array[] = [bytes.subarray(from, to)];
  // EIP-155: v is 35 + 2 × chain id + parity. The signed list has the chain id and two zeros in place of the signature.
  const isReplayProtected = typeByte.length === 0 && v >= 35n;
  if (isReplayProtected) unsigned.push(RLP.encode((v - 35n) / 2n), Buffer.from([0x80, 0x80]));
  const parity = isReplayProtected ? (v - 35n) % 2n : typeByte.length === 0 ? v - 27n : v;
  const content = Buffer.concat(unsigned);
  const signed = keccak256(Buffer.concat([typeByte, listHeader(content.length), content]));
  try {
    const key = new (curve().secp256k1.Signature)(r, s, Number(parity)).recoverPublicKey(signed).toBytes(false);
    return hex(keccak256(key.subarray(1)).subarray(12));
  } catch {
    return undefined; // not a point of the curve: nodes reject it too
  }
}

/** One RLP item, with the offsets of its header, content and end. */
interface RlpItem {
  readonly isList: boolean;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

/** The bytes before the items of a list. @param length of the items in bytes */
function listHeader(length: number): Buffer {
  if (length <= 55) return Buffer.from([FIRST_LIST_BYTE + length]);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  return Buffer.concat([Buffer.from([FIRST_LIST_BYTE + 55 + bytes.length]), bytes]);
}

/**
 * The header of an item. Inner items are not read: a caller's list may have millions of them.
 * @throws RangeError if the item exceeds the bytes
 */
function readItem(bytes: Buffer, start: number): RlpItem {
  const first = byteAt(bytes, start);
  if (first < 0x80) return { isList: false, start, content: start, end: start + 1 };
  const isList = first >= FIRST_LIST_BYTE;
  const short = first - (isList ? FIRST_LIST_BYTE : 0x80);
  // A value up to 55 is the length. Above, the length follows in (value - 55) bytes; 4 suffice for any transaction.
  const lengthBytes = Math.max(0, short - 55);
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(start + 1, lengthBytes);
  const content = start + 1 + lengthBytes;
  if (content + length > bytes.length) throw new RangeError('an item exceeds the bytes');
  return { isList, start, content, end: content + length };
}

function readMembers(bytes: Buffer, list: RlpItem): RlpItem[] {
  const members: RlpItem[] = [];
  for (let at = list.content; at < list.end;) {
    const member = readItem(bytes, at);
    members.push(member);
    at = member.end;
  }
  return members;
}

function byteAt(bytes: Buffer, at: number): number {
  return bytes.readUInt8(at);
}

function toBigInt(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
