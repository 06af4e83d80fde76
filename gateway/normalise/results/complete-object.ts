import { isObject } from '../../collections/is-object.ts';
import type { ObjectShape } from '../../spec/method-spec.ts';
import { address, applyObjectRule, type ObjectStatus } from './object-rules.ts';
import { viewOf } from './object-view.ts';
import { isQuantity, isRounded, normaliseQuantity, withAllDigits, withHexNumbers } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/** Longer texts are not parsed again: that is one step. Long lists come in parts. */
const MAX_PARSED_AGAIN_CHARS = 262_144;

/** A value after `completeExactly`. */
interface CompletedValue {
  readonly status: ObjectStatus;
  /** The given value, or another one with the quantities that JSON.parse has rounded. */
  readonly value: unknown;
  /** JSON of a completed value, if it has numbers that lose digits when they are parsed. */
  readonly text: string | undefined;
}

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
 * Completes a parsed value so that its numbers keep the digits of its JSON text. A rounded quantity becomes hexadecimal.
 * @param json undefined: it is not known
 * @param complete completes the value in place; throws roundedQuantity
 */
export function completeExactly(
  given: unknown,
  json: string | undefined,
  shape: ObjectShape,
  complete: (value: unknown) => ObjectStatus,
): CompletedValue {
  const { allQuantities } = viewOf(shape);
  let value = given;
  let status = unlessRounded(complete, value);
  if (status === undefined) {
    value = JSON.parse(withHexNumbers(json ?? JSON.stringify(given), allQuantities));
    // A quantity that is still rounded is no whole number.
    status = unlessRounded(complete, value) ?? 'malformed';
    if (status === 'fits') status = 'completed';
  }
  if (status !== 'completed' || json === undefined || json.length > MAX_PARSED_AGAIN_CHARS)
    return { status, value, text: undefined };
  const text = withAllDigits(json, allQuantities, (again) => {
    complete(again);
    return again;
  });
  return { status, value, text };
}

/** @returns undefined: JSON.parse has rounded a quantity */
function unlessRounded(complete: (value: unknown) => ObjectStatus, value: unknown): ObjectStatus | undefined {
  try {
    return complete(value);
  } catch (error) {
    if (error !== roundedQuantity) throw error;
    return undefined;
  }
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
