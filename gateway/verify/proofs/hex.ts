import { isBytes } from '../../collections/is-bytes.ts';
import type { JsonObject } from '../../collections/is-object.ts';
import { keccak256 } from '../../collections/keccak.ts';

/**
 * Error that is thrown for a value that has no encoding: its object has an unknown form. Created once, because its stack is
 * not needed.
 */
export const unknownForm = new Error('unknown form');

/** The result of work on an object. Undefined: the object has an unknown form. */
export function ifKnown<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error === unknownForm) return undefined;
    throw error;
  }
}

/** @throws unknownForm */
export function toBytes(value: unknown): Uint8Array {
  if (!isBytes(value)) throw unknownForm;
  return Buffer.from(value.slice(2), 'hex');
}

/** The bytes of a quantity as RLP has them: without leading zeros, none for 0. @throws unknownForm */
export function toNumberBytes(value: unknown): Uint8Array {
  if (!isQuantity(value)) throw unknownForm;
  const digits = value.slice(2).replace(/^0+/, '');
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`;
}

/** keccak-256 in hexadecimal. */
export function hashOf(bytes: Uint8Array): string {
  return toHex(keccak256(bytes));
}

/** Whether two hexadecimal texts have the same bytes. */
export function isSameHex(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  return typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase();
}

/** Whether two quantities are equal. A missing one equals only a missing one. BigInt would also read `1001` and ` 0x1`. */
export function isSameQuantity(one: unknown, other: unknown): boolean {
  if (isAbsent(one) || isAbsent(other)) return isAbsent(one) && isAbsent(other);
  return one === other || (isQuantity(one) && isQuantity(other) && BigInt(one) === BigInt(other));
}

export function quantityOf(number: bigint | number): string {
  return `0x${number.toString(16)}`;
}

export function isQuantity(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value);
}

/** The type of a transaction or receipt. Before EIP-2718, they have none. @throws unknownForm */
export function typeOf({ type }: JsonObject): number {
  if (isAbsent(type)) return 0;
  if (!isQuantity(type)) throw unknownForm;
  return Number(type);
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
