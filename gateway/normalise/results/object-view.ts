import type { ObjectShape } from '../../spec/method-spec.ts';
import { absent, address, quantity, type FieldRule, objectRules } from './object-rules.ts';

/** The rules of a shape by which the bytes of an object are checked. Created once per shape. */
export interface ObjectView {
  /** Names of fields that may be added as null, in the order of their bits. */
  readonly fill: readonly string[];
  /** Bits of the fields without which the object must be parsed. */
  readonly required: number;
  /** Number with all bits. */
  readonly whole: number;
  readonly fields: ReadonlyMap<string, Field>;
  /** Names of the quantities in the object, and in the objects within it. */
  readonly allQuantities: ReadonlySet<string>;
}

/** One field that is checked. */
export interface Field {
  readonly bit: number;
  /** An object with a value that does not fit must be parsed, and completed. */
  readonly rule: FieldRule | undefined;
  /** View of the elements, for arrays of objects. */
  readonly elements: ObjectView | undefined;
  /** Whether the array may have hashes in place of objects. */
  readonly canHaveHashes: boolean;
}

/** Usable bits of an integer. */
const MAX_FLAGS = 31;

/** View of objects without checked fields. */
export const plainView: ObjectView = { fill: [], required: 0, whole: 0, fields: new Map(), allQuantities: new Set() };

const views = new Map<ObjectShape, ObjectView>();

export function viewOf(shape: ObjectShape): ObjectView {
  let view = views.get(shape);
  if (view === undefined) views.set(shape, (view = makeView(shape)));
  return view;
}

function makeView({ type, fill, quantities, addresses, rename, nested, orHashes }: ObjectShape): ObjectView {
  const ofObject = objectRules[type]?.fields ?? {};
  const rules: Readonly<Record<string, FieldRule>> = {
    ...Object.fromEntries(quantities.map((name) => [name, quantity])),
    ...Object.fromEntries(addresses.map((name) => [name, address])),
    ...Object.fromEntries(Object.values(rename).map((alias) => [alias, absent])),
    ...ofObject,
  };
  const required = Object.keys(ofObject).filter((name) => ofObject[name]?.fits(undefined) === false);
  const flagged = [...new Set([...fill, ...required])];
  if (flagged.length > MAX_FLAGS) throw new Error(`${type} has too many fields`);
  const bitsOf = (names: readonly string[]): number =>
    names.reduce((bits, name) => (flagged.includes(name) ? bits | (1 << flagged.indexOf(name)) : bits), 0);
  const names = new Set([...flagged, ...Object.keys(rules), ...Object.keys(nested)]);
  const fields = new Map<string, Field>();
  for (const name of names) {
    const inner = nested[name];
    fields.set(name, {
      bit: bitsOf([name]),
      rule: rules[name],
      elements: inner === undefined ? undefined : viewOf(inner),
      canHaveHashes: orHashes.includes(name),
    });
  }
  const within = Object.values(nested).flatMap((inner) => [...viewOf(inner).allQuantities]);
  const allQuantities = new Set([...quantities, ...within]);
  return { fill, required: bitsOf(required), whole: bitsOf(flagged), fields, allQuantities };
}
