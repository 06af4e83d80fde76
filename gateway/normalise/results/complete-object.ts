import { isObject } from '../../collections/is-object.ts';
import type { ObjectShape } from '../../spec/method-spec.ts';
import { address, applyObjectRule, type ObjectStatus } from './object-rules.ts';
import { isQuantity, isRounded, normaliseQuantity } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/** Error that is thrown if a quantity must be read from the JSON text. Created once, because its stack is not needed. */
const roundedQuantity = new Error('rounded quantity');

/**
 * Completes an upstream's object in place, as the spec requires. Fields outside the schema stay.
 * @throws roundedQuantity
 */
export function completeResult(object: JsonObject, shape: ObjectShape): ObjectStatus {
  // Completed, `0x` would be zero: a fee of nothing.
  const isEmpty = shape.demand.some((name) => object[name] === '0x');
  const isCompleted = completeObject(object, shape);
  if (isEmpty) return 'malformed';
  for (const name of shape.demand) if (!isQuantity(object[name])) return 'malformed';
  const status = applyObjectRule(shape.type, object);
  return isCompleted && status === 'fits' ? 'completed' : status;
}

/**
 * Runs work on values of a JSON text, and again with exact quantities if JSON.parse has rounded one.
 * @param work throws `roundedQuantity`; gets whether quantities must be read as hexadecimal: `withHexNumbers`
 * @returns undefined: a quantity is no whole number
 */
export function withQuantities<T>(work: (areExact: boolean) => T): T | undefined {
  for (const areExact of [false, true]) {
    try {
      return work(areExact);
    } catch (error) {
      if (error !== roundedQuantity) throw error;
    }
  }
  return undefined;
}

/** @returns whether it changed the object */
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
    if (object[name] !== undefined) continue;
    object[name] = null;
    isChanged = true;
  }
  if (normaliseFields(object, shape, raiseRounded)) isChanged = true;
  for (const name in shape.nested) {
    if (completeElements(object[name], shape.nested[name] as ObjectShape)) isChanged = true;
  }
  return isChanged;
}

function raiseRounded(): never {
  throw roundedQuantity;
}

/**
 * Normalises quantities, and replaces empty addresses by null, in place. It adds no fields.
 * @param onRounded called at a number that JSON.parse has rounded
 * @returns whether it changed the object
 */
export function normaliseFields(
  object: JsonObject,
  { quantities, addresses }: ObjectShape,
  onRounded?: () => void,
): boolean {
  let isChanged = false;
  for (const name of quantities) {
    const value = object[name];
    const quantity = normaliseQuantity(value);
    if (quantity === value) {
      if (typeof value === 'number' && isRounded(value)) onRounded?.();
      continue;
    }
    object[name] = quantity;
    isChanged = true;
  }
  for (const name of addresses) {
    if (address.fits(object[name])) continue;
    object[name] = null;
    isChanged = true;
  }
  return isChanged;
}

/** Nested objects have rules too: a transaction in a block may be pending. */
function completeElements(array: unknown, shape: ObjectShape): boolean {
  if (!Array.isArray(array)) return false;
  let isChanged = false;
  for (const item of array) if (isObject(item) && completeResult(item, shape) !== 'fits') isChanged = true;
  return isChanged;
}

/** `0x5` → `0x00…05`. Longer values and other texts are returned unchanged. */
export function padHex(hex: string, bytes: number): string {
  return hex.length >= 2 + 2 * bytes || !hex.startsWith('0x') ? hex : `0x${hex.slice(2).padStart(2 * bytes, '0')}`;
}
