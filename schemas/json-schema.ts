/** The part of JSON Schema that schemas/types and schemas/methods are written in. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema | boolean>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly if?: JsonSchema;
  readonly then?: JsonSchema;
  readonly else?: JsonSchema;
  /**
   * What JSON Schema cannot say: bytes that a value is padded to, another spelling of a field, that a parameter's
   * quantity is lowered to ten times the block gas limit, and, of an object, what a missing required field means: it
   * becomes null, or the result is an upstream failure.
   */
  readonly 'x-gatehouse'?: {
    readonly pad?: number;
    readonly alias?: string;
    readonly gasCap?: true;
    readonly missing?: 'null' | 'failure';
  };
}

export type Types = Readonly<Record<string, JsonSchema>>;

const refPrefix = '#/components/schemas/';

export function refTo(type: string): string {
  return refPrefix + type;
}

/** The name of the type that a `$ref` points at. */
export function typeOfRef(ref: string): string {
  return ref.startsWith(refPrefix) ? ref.slice(refPrefix.length) : ref;
}

/** The schema itself, or what its `$ref` points at. */
export function resolve(schema: JsonSchema, types: Types): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const target = types[typeOfRef(schema.$ref)];
  if (target === undefined) throw new Error(`${schema.$ref} does not exist`);
  return resolve(target, types);
}

/** "X or null" is written `anyOf: [X, {type: 'null'}]`. Gives X, or undefined when the schema is not of that form. */
export function notNull(schema: JsonSchema): JsonSchema | undefined {
  const [first, second, ...more] = schema.anyOf ?? [];
  return second?.type === 'null' && more.length === 0 ? first : undefined;
}

/** Every schema right inside this one. */
export function partsOf(schema: JsonSchema): JsonSchema[] {
  const properties = Object.values(schema.properties ?? {}).filter((part) => typeof part !== 'boolean');
  const single = [schema.items, schema.if, schema.then, schema.else].filter((part) => part !== undefined);
  return [...properties, ...single, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
}
