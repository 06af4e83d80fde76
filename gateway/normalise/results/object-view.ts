import type { ObjectShape } from '../../spec/method-spec.ts';

/** What is looked at in the bytes of an object of some shape; made once for each. */
export interface ObjectView {
  /** Names of fields that may be added as null, in the order of their bits. */
  readonly fill: readonly string[];
  /** The bits of fields without which the object must be mended in another way. */
  readonly required: number;
  /** All bits. */
  readonly whole: number;
  /** By length and ends of the name, which tell nearly all names apart. */
  readonly fields: readonly (readonly Field[])[];
  /** The bits of the last object that was walked through. */
  found: number;
}

export interface Field {
  readonly name: Buffer;
  readonly bit: number;
  /** Whether its being there means that the object has to be mended. */
  readonly needsCompletion: boolean;
  /** What the value must be to stay as it is. */
  readonly rule: 'any' | 'block-hash' | 'status' | 'quantity' | 'address';
  /** For arrays of objects. */
  readonly elements: ObjectView | undefined;
  /** Whether hashes may stand in place of the objects. */
  readonly mayHoldHashes: boolean;
}

const HASH_SLOTS = 256;

/** Bits in a number. */
const BITS = 31;

const views = new Map<ObjectShape, ObjectView>();

export function viewOf(shape: ObjectShape): ObjectView {
  let view = views.get(shape);
  if (view === undefined) views.set(shape, (view = makeView(shape)));
  return view;
}

/** The field whose name stands there, if it is one that is looked at. */
export function fieldNamed({ fields }: ObjectView, bytes: Buffer, start: number, end: number): Field | undefined {
  const candidates = fields[slotOf(bytes, start, end)] ?? [];
  for (let index = 0; index < candidates.length; index++) {
    const field = candidates[index] as Field;
    if (isAt(field.name, bytes, start, end)) return field;
  }
  return undefined;
}

/** Whether exactly these bytes stand there. Short ones: a loop is faster than `compare`. */
export function isAt(wanted: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = wanted;
  if (end - start !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== wanted[index]) return false;
  return true;
}

function makeView({ type, fill, quantities, addresses, rename, nested, orHashes }: ObjectShape): ObjectView {
  const required = requiredOf(type);
  const flagged = [...new Set([...fill, ...required])];
  if (flagged.length > BITS) throw new Error(`${type} has too many fields`);
  const bitOf = (name: string): number => (flagged.includes(name) ? 1 << flagged.indexOf(name) : 0);
  const mended = [...Object.values(rename), ...(type === 'Receipt' ? ['root'] : [])];
  const names = new Set([...flagged, ...mended, ...quantities, ...addresses, ...Object.keys(nested)]);
  const fields: Field[][] = Array.from({ length: HASH_SLOTS }, () => []);
  for (const name of names) {
    const inner = nested[name];
    const field: Field = {
      name: Buffer.from(name),
      bit: bitOf(name),
      needsCompletion: mended.includes(name),
      rule: quantities.includes(name) ? 'quantity' : addresses.includes(name) ? 'address' : ruleOf(type, name),
      elements: inner === undefined ? undefined : viewOf(inner),
      mayHoldHashes: orHashes.includes(name),
    };
    fields[slotOf(field.name, 0, field.name.length)]?.push(field);
  }
  const whole = flagged.reduce((bits, name) => bits | bitOf(name), 0);
  return { fill, required: required.reduce((bits, name) => bits | bitOf(name), 0), whole, fields, found: 0 };
}

/** Whose absence changes other fields, or the whole. */
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
