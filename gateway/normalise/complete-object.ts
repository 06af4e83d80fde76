import type { ObjectShape } from '../spec/method-spec.ts';
import { objectRules } from './object-rules.ts';

type JsonObject = Record<string, unknown>;

/** Quantities that an object may lack, and some nodes give as JSON numbers (anvil 1.7.1: blockTimestamp of receipts). */
export const optionalQuantities = [
  'chainId',
  'status',
  'yParity',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'baseFeePerGas',
  'blobGasUsed',
  'blobGasPrice',
  'excessBlobGas',
  'blockTimestamp',
] as const;

/** Gives a node's object, in place, the fields that the spec promises. Fields that the spec does not name stay. */
export function completeObject(object: JsonObject, shape: ObjectShape): void {
  for (const [name, alias] of Object.entries(shape.rename)) {
    if (object[alias] === undefined) continue;
    object[name] ??= object[alias];
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the name comes from the schema
    delete object[alias];
  }
  for (const name of shape.fill) {
    if (object[name] === undefined) object[name] = null;
    else if (typeof object[name] === 'number') object[name] = toQuantity(object[name]);
  }
  for (const name of optionalQuantities) {
    if (typeof object[name] === 'number') object[name] = toQuantity(object[name]);
  }
  for (const [name, bytes] of Object.entries(shape.pad)) {
    const value = object[name];
    if (typeof value === 'string') object[name] = padHex(value, bytes);
  }
  for (const [name, inner] of Object.entries(shape.nested)) {
    const value = object[name];
    if (Array.isArray(value)) for (const item of value) if (isObject(item)) completeInner(item, inner);
  }
}

/** Objects inside others are what they are, too: a transaction in a block may be pending. */
function completeInner(object: JsonObject, shape: ObjectShape): void {
  completeObject(object, shape);
  objectRules[shape.type]?.(object, []);
}

/** A JSON number as a quantity; a fraction, which is none, stays. */
function toQuantity(number: number): string | number {
  return Number.isSafeInteger(number) && number >= 0 ? `0x${number.toString(16)}` : number;
}

/** `0x5` → `0x00…05`. Longer values, and what is not hexadecimal, stay as they are. */
export function padHex(hex: string, bytes: number): string {
  return hex.length >= 2 + 2 * bytes || !hex.startsWith('0x') ? hex : `0x${hex.slice(2).padStart(2 * bytes, '0')}`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
