import type { ObjectShape } from '../../spec/method-spec.ts';

/** The fields of a shape that are checked in an object's bytes. Created once per shape. */
export interface ObjectView {
  /** Names of fields that may be added as null, in the order of their bits. */
  readonly fill: readonly string[];
  /** Bits of the fields without which the object must be parsed. */
  readonly required: number;
  /** All bits. */
  readonly whole: number;
  /** Hash table by the length and the first and last byte of the name: nearly all slots have one field. */
  readonly fields: readonly (readonly Field[])[];
}

/** One field that is checked. */
export interface Field {
  readonly name: Buffer;
  readonly bit: number;
  /** Whether the object must be parsed and completed if it has this field. */
  readonly needsCompletion: boolean;
  /** Kind of value; other values, such as padded quantities, must be parsed. */
  readonly rule: 'any' | 'block-hash' | 'status' | 'quantity' | 'address';
  /** For arrays of objects. */
  readonly elements: ObjectView | undefined;
  /** Whether the array may have hashes in place of objects. */
  readonly canHaveHashes: boolean;
}

const HASH_SLOTS = 256;

/** Usable bits of an integer. */
const MAX_FLAGS = 31;

/** For objects without checked fields. */
export const plainView: ObjectView = { fill: [], required: 0, whole: 0, fields: [] };

const views = new Map<ObjectShape, ObjectView>();

export function viewOf(shape: ObjectShape): ObjectView {
  let view = views.get(shape);
  if (view === undefined) views.set(shape, (view = makeView(shape)));
  return view;
}

/** The field with the name in `bytes`. Undefined if it is not checked. */
export function fieldNamed({ fields }: ObjectView, bytes: Buffer, start: number, end: number): Field | undefined {
  const candidates = fields[slotOf(bytes, start, end)] ?? [];
  for (let index = 0; index < candidates.length; index++) {
    const field = candidates[index] as Field;
    if (isAt(field.name, bytes, start, end)) return field;
  }
  return undefined;
}

/** Whether `bytes` has exactly these bytes from `start` to `end`. For few bytes, a loop is faster than `compare`. */
export function isAt(expected: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = expected;
  if (end - start !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== expected[index]) return false;
  return true;
}

function makeView({ type, fill, quantities, addresses, rename, nested, orHashes }: ObjectShape): ObjectView {
  const required = requiredOf(type);
  const flagged = [...new Set([...fill, ...required])];
  if (flagged.length > MAX_FLAGS) throw new Error(`${type} has too many fields`);
  const bitOf = (name: string): number => (flagged.includes(name) ? 1 << flagged.indexOf(name) : 0);
  const incomplete = [...Object.values(rename), ...(type === 'Receipt' ? ['root'] : [])];
  const names = new Set([...flagged, ...incomplete, ...quantities, ...addresses, ...Object.keys(nested)]);
  const fields: Field[][] = Array.from({ length: HASH_SLOTS }, () => []);
  for (const name of names) {
    const inner = nested[name];
    const field: Field = {
      name: Buffer.from(name),
      bit: bitOf(name),
      needsCompletion: incomplete.includes(name),
      rule: quantities.includes(name) ? 'quantity' : addresses.includes(name) ? 'address' : ruleOf(type, name),
      elements: inner === undefined ? undefined : viewOf(inner),
      canHaveHashes: orHashes.includes(name),
    };
    fields[slotOf(field.name, 0, field.name.length)]?.push(field);
  }
  const whole = flagged.reduce((bits, name) => bits | bitOf(name), 0);
  return { fill, required: required.reduce((bits, name) => bits | bitOf(name), 0), whole, fields };
}

/** Fields whose absence changes other fields, or the status of the object. */
function requiredOf(type: string): readonly string[] {
  if (type === 'Receipt') return ['blockHash', 'status'];
  return type === 'Transaction' ? ['blockHash'] : [];
}

function ruleOf(type: string, name: string): Field['rule'] {
  if (type === 'Receipt' && name === 'status') return 'status';
  return name === 'blockHash' && (type === 'Receipt' || type === 'Transaction') ? 'block-hash' : 'any';
}

function slotOf(bytes: Buffer, start: number, end: number): number {
  return ((end - start) * 37 + (bytes[start] ?? 0) * 7 + (bytes[end - 1] ?? 0)) % HASH_SLOTS;
}
