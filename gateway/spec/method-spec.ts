import { namespaceOf } from '../network-files/namespace-of.ts';

/** Who answers in place of an upstream. */
export type LocalHandler = 'local' | 'socket' | 'filters' | 'document';

/** What the gateway needs to know of a method on the hot path. Derived from `schemas/methods` by `npm run generate`. */
export interface MethodSpec {
  readonly name: string;
  /** The part before the first underscore or dot. */
  readonly namespace: string;
  /**
   * `local`: answered by the gateway itself, no upstream is asked; `socket`: by the caller's WebSocket; `filters`: by
   * what is kept for callers who poll; `document`: by what describes the network.
   */
  readonly handledBy?: LocalHandler;
  /** The result may be null: the object was not found. */
  readonly nullable: boolean;
  /** The method may end in a revert, answered with code 3. */
  readonly reverts: boolean;
  /** What is sent takes effect, so that it is forwarded even when nobody waits for the answer. */
  readonly sends?: true;
  /** It runs contracts, though no call of it ends in a revert: a contract's text may stand in its errors. */
  readonly executes?: true;
  /** The first parameter is the hash of what is looked up, or of the block that it is in; the result may be null. */
  readonly looksUpHash?: true;
  /** Where no upstream has the method, the answer is null in place of -32601: many clients do not have uncles. */
  readonly nullWhenUnsupported?: true;
  /** Which kinds of JSON value a result may be when it is not null. Absent: any, and it is passed on as it is. */
  readonly resultKinds?: readonly ResultKind[];
  /** What a text result matches, after padding. */
  readonly resultPattern?: string;
  /** Bytes that a hexadecimal result is left-padded to. */
  readonly padResult?: number;
  /** The result is a quantity, which has no leading zeros. */
  readonly resultIsQuantity?: true;
  /** The field that holds objects where the parameter at this position is true, and their hashes where it is false. */
  readonly details?: { readonly field: string; readonly param: number };
  /** What shows that a result, or each object in an array, is the one asked for. */
  readonly identity?: readonly Identity[];
  /** Positions of hash parameters: lowered before forwarding. A position may also hold an EIP-1898 object. */
  readonly hashParams: readonly number[];
  /** Where gas is named that is capped. */
  readonly gasAt?: readonly GasPlace[];
  /**
   * Where a call names contracts: a parameter that is an address, or the field of one that holds one or several.
   * `pretence`: the parameter by which a call may give any contract other code.
   */
  readonly contractAt?: { readonly param: number; readonly field?: string; readonly overrides?: number };
  /** Position of what names a block, or of the filter that names two; `readsState`: of the state after it. */
  readonly blockAt?: { readonly param: number; readonly readsState?: true };
  /** A network's file names it, and the spec does not know it: nobody can say what its parameters mean. */
  readonly isPassThrough?: true;
  /** How much of a key's limits a call uses up; absent: 1. */
  readonly requestUnits?: number;
  /** How long an answer is true, where it may be kept. */
  readonly cache?: CacheRule;
  /** How an object result, or each object in an array, is completed. */
  readonly shape?: ObjectShape;
}

/**
 * `head`: until the head moves; `result`: while the block that the result names is of the chain; or by the block that a
 * parameter names, by tag, number, hash or EIP-1898 object.
 */
export type CacheRule = 'head' | 'result' | { readonly param: number };

/** A method that the spec does not know: whatever its parameters and its result are, they pass as they stand. */
export function passThrough(name: string): MethodSpec {
  return { name, namespace: namespaceOf(name), nullable: false, reverts: false, hashParams: [], isPassThrough: true };
}

export type ResultKind = 'object' | 'string' | 'array' | 'boolean';

/** A quantity in a parameter. `path`: names of members, outermost first; `*` for each element of an array. */
export interface GasPlace {
  readonly param: number;
  readonly path: readonly string[];
}

/** A field of a result that must be what a parameter names. A tag, or a parameter left out, names nothing. */
export interface Identity {
  readonly field: string;
  /** The parameter's position. It may also hold an object with a blockHash or a blockNumber (EIP-1898, log filters). */
  readonly param: number;
  readonly kind: 'hash' | 'quantity';
}

/** The rules of an object that the spec names, read off its schema. */
export interface ObjectShape {
  /** Its name in `schemas/types`. */
  readonly type: string;
  /** Fields that the spec names and does not call optional: answered as null when the node left them out. */
  readonly fill: readonly string[];
  /** Quantities without which the result is an upstream failure. */
  readonly demand: readonly string[];
  /** Fields that hold quantities: JSON numbers become hexadecimal, leading zeros are removed. */
  readonly quantities: readonly string[];
  /** Fields that hold addresses: empty ones become null. */
  readonly addresses: readonly string[];
  /** Fields that nodes spell in another way: spec's spelling by the node's. */
  readonly rename: Readonly<Record<string, string>>;
  /** Fields that hold an array of objects (other elements, such as hashes, are left alone). */
  readonly nested: Readonly<Record<string, ObjectShape>>;
  /** Those of `nested` that may hold hashes in place of the objects. */
  readonly orHashes: readonly string[];
}
