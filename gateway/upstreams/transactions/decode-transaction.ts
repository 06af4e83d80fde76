import type * as Curve from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { loadPackage } from '../../config/load-package.ts';

/** Its 1 MB and 30 ms are for those who send. */
const curve = (): typeof Curve => loadPackage('@noble/curves/secp256k1.js') as typeof Curve;

/** What the bytes given to `eth_sendRawTransaction` say without any node. */
export interface Transaction {
  /** Under which every node knows it. */
  readonly hash: string;
  /** Recovers the sender's address, in lower case, from the signature: 1.4 ms. Undefined where that is malformed. */
  sender(): string | undefined;
}

/**
 * Members of the list by type byte, the signature's three at the end included; 0 for legacy transactions, which have
 * no type byte (EIP-155, 2930, 1559, 4844, 7702).
 */
const memberCounts: ReadonlyMap<number, number> = new Map([
  [0, 9],
  [1, 11],
  [2, 12],
  [3, 14],
  [4, 13],
]);
const BLOB = 3;
const FIRST_LIST_BYTE = 0xc0;

/**
 * @param raw 0x and bytes in hexadecimal
 * @returns undefined for what is malformed and for types of which the rules are not known here: the hash of zkSync
 * Era's type 0x71 is not that of its bytes
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
  // On its way, a blob transaction is the first member of a list that holds the blobs too; they are not hashed (EIP-4844).
  const list = type === BLOB && inner.isList ? inner : whole;
  const members = readMembers(bytes, list);
  if (!list.isList || members.length !== count) return undefined;
  return {
    hash: hex(keccak_256(Buffer.concat([typeByte, bytes.subarray(list.start, list.end)]))),
    sender: () => recoverSender(bytes, typeByte, members),
  };
}

/** The sender signed the hash of the list without the signature. */
function recoverSender(bytes: Buffer, typeByte: Buffer, members: readonly Item[]): string | undefined {
  const [v, r, s] = members.slice(-3).map(({ content, end }) => toBigInt(bytes.subarray(content, end)));
  const [from, to] = [members[0]?.start, members.at(-3)?.start];
  if (v === undefined || r === undefined || s === undefined) return undefined;
  const unsigned = [bytes.subarray(from, to)];
  // EIP-155: v is 35 + 2 × chain id + parity, and the chain id and two zeros stand in the signature's place.
  const isReplayProtected = typeByte.length === 0 && v >= 35n;
  if (isReplayProtected) unsigned.push(encodeNumber((v - 35n) / 2n), Buffer.from([0x80, 0x80]));
  const parity = isReplayProtected ? (v - 35n) % 2n : typeByte.length === 0 ? v - 27n : v;
  const content = Buffer.concat(unsigned);
  const signed = keccak_256(Buffer.concat([typeByte, listHeader(content.length), content]));
  try {
    const key = new (curve().secp256k1.Signature)(r, s, Number(parity)).recoverPublicKey(signed).toBytes(false);
    return hex(keccak_256(key.subarray(1)).subarray(12));
  } catch {
    return undefined; // no point of the curve: a node refuses it too
  }
}

/** One RLP item: where its header begins, where its content, and where it ends. */
interface Item {
  readonly isList: boolean;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

/** @throws RangeError where it goes beyond the bytes */
function readItem(bytes: Buffer, start: number): Item {
  const first = byteAt(bytes, start);
  if (first < 0x80) return { isList: false, start, content: start, end: start + 1 };
  const isList = first >= FIRST_LIST_BYTE;
  const short = first - (isList ? FIRST_LIST_BYTE : 0x80);
  // Up to 55 it is the length; above, the number of bytes of the length that follow. No transaction needs more than 4.
  const lengthBytes = Math.max(0, short - 55);
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(start + 1, lengthBytes);
  const content = start + 1 + lengthBytes;
  if (content + length > bytes.length) throw new RangeError('an item goes beyond the bytes');
  return { isList, start, content, end: content + length };
}

function readMembers(bytes: Buffer, list: Item): Item[] {
  const members: Item[] = [];
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

function listHeader(length: number): Buffer {
  if (length <= 55) return Buffer.from([FIRST_LIST_BYTE + length]);
  const bytes = numberBytes(BigInt(length));
  return Buffer.concat([Buffer.from([FIRST_LIST_BYTE + 55 + bytes.length]), bytes]);
}

function encodeNumber(number: bigint): Buffer {
  const bytes = numberBytes(number);
  if (bytes.length === 1 && byteAt(bytes, 0) < 0x80) return bytes;
  return Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes]);
}

/** Big-endian without leading zeros. */
function numberBytes(number: bigint): Buffer {
  const digits = number === 0n ? '' : number.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

function toBigInt(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
