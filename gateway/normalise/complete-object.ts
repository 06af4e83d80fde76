import type { ObjectShape } from '../spec/method-spec.ts';
import { objectRules, type Outcome } from './object-rules.ts';

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

/**
 * Makes of a node's object, in place, what the spec promises. Fields that the spec does not name stay.
 * @param params as they were sent
 */
export function mend(object: JsonObject, shape: ObjectShape, params: readonly unknown[]): Outcome {
  const isCompleted = completeObject(object, shape);
  const outcome = objectRules[shape.type]?.(object, params) ?? 'fits';
  return isCompleted && outcome === 'fits' ? 'mended' : outcome;
}

/** @returns whether anything had to be changed */
function completeObject(object: JsonObject, shape: ObjectShape): boolean {
  let isChanged = false;
  for (const name in shape.rename) {
    const alias = shape.rename[name] as string;
    if (object[alias] === undefined) continue;
    object[name] ??= object[alias];
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the name comes from the schema
    delete object[alias];
    isChanged = true;
  }
  for (const name of shape.fill) {
    if (object[name] === undefined) {
      object[name] = null;
      isChanged = true;
    } else if (makeQuantity(object, name)) isChanged = true;
  }
  for (const name of optionalQuantities) if (makeQuantity(object, name)) isChanged = true;
  for (const name in shape.pad) if (padField(object, name, shape.pad[name] as number)) isChanged = true;
  for (const name in shape.nested) {
    if (mendElements(object[name], shape.nested[name] as ObjectShape)) isChanged = true;
  }
  return isChanged;
}

/** Objects inside others are what they are, too: a transaction in a block may be pending. */
function mendElements(array: unknown, shape: ObjectShape): boolean {
  if (!Array.isArray(array)) return false;
  let isChanged = false;
  for (const item of array) if (isObject(item) && mend(item, shape, none) !== 'fits') isChanged = true;
  return isChanged;
}

const none: readonly unknown[] = [];

/** A JSON number as a quantity; a fraction, which is none, stays. */
function makeQuantity(object: JsonObject, name: string): boolean {
  const number = object[name];
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) return false;
  object[name] = `0x${number.toString(16)}`;
  return true;
}

function padField(object: JsonObject, name: string, bytes: number): boolean {
  const value = object[name];
  if (typeof value !== 'string') return false;
  const padded = padHex(value, bytes);
  object[name] = padded;
  return padded !== value;
}

/** `0x5` → `0x00…05`. Longer values, and what is not hexadecimal, stay as they are. */
export function padHex(hex: string, bytes: number): string {
  return hex.length >= 2 + 2 * bytes || !hex.startsWith('0x') ? hex : `0x${hex.slice(2).padStart(2 * bytes, '0')}`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
