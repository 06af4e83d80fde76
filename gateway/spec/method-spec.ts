/** What the gateway needs to know of a method on the hot path. Derived from `schemas/methods` by `npm run generate`. */
export interface MethodSpec {
  readonly name: string;
  /** The part before the first underscore. */
  readonly namespace: string;
  /** `local`: answered by the gateway itself, no upstream is asked. */
  readonly answer?: 'local';
  /** The result may be null: the object was not found. */
  readonly nullable: boolean;
  /** The method may end in a revert, answered with code 3. */
  readonly reverts: boolean;
  /** What kind of JSON value a result is when it is not null. */
  readonly resultKind: 'object' | 'string' | 'array' | 'boolean';
  /** Bytes that a hexadecimal result is left-padded to. */
  readonly padResult?: number;
  /** The field of the result that must equal the first parameter (a hash). */
  readonly identity?: string;
  /** Positions of hash parameters: lowered before forwarding. A position may also hold an EIP-1898 object. */
  readonly hashParams: readonly number[];
  /** Position of the call object whose `gas` is capped. */
  readonly gasCapParam?: number;
  /** Where a call names contracts: a parameter that is an address, or the field of one that holds one or several. */
  readonly contractAt?: { readonly param: number; readonly field?: string };
  /** How much of a key's limits a call uses up; absent: 1. */
  readonly weight?: number;
  /** How an object result is completed. */
  readonly shape?: ObjectShape;
}

/** The rules of an object that the spec names, read off its schema. */
export interface ObjectShape {
  /** Fields that the spec names and does not call optional: answered as null when the node left them out. */
  readonly fill: readonly string[];
  /** Fields with a fixed number of bytes that nodes send without leading zeros: left-padded. */
  readonly pad: Readonly<Record<string, number>>;
  /** Fields that nodes spell in another way: spec's spelling by the node's. */
  readonly rename: Readonly<Record<string, string>>;
  /** Fields that hold an array of objects (other elements, such as hashes, are left alone). */
  readonly nested: Readonly<Record<string, ObjectShape>>;
}
