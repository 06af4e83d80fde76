/** The subset of JSON Schema that schemas/types and schemas/methods use. */
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
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly if?: JsonSchema;
  readonly then?: JsonSchema;
  readonly else?: JsonSchema;
  /**
   * Properties that JSON Schema does not have. `pad`: bytes to which a value is padded. `alias`: another name of a field.
   * `gasCap`: the quantity is lowered to ten times the block gas limit. `missing`, of an object: a missing required field
   * becomes null, or makes the result an upstream failure. `varies`: why correct nodes differ in a field.
   */
  readonly 'x-gatehouse'?: {
    readonly pad?: number;
    readonly alias?: string;
    readonly gasCap?: true;
    readonly missing?: 'null' | 'failure';
    readonly varies?: string;
  };
}

export type Types = Readonly<Record<string, JsonSchema>>;

const refPrefix = '#/components/schemas/';

export function refTo(type: string): string {
  return refPrefix + type;
}

/** The name of the type to which a `$ref` refers. */
export function typeOfRef(ref: string): string {
  return ref.startsWith(refPrefix) ? ref.slice(refPrefix.length) : ref;
}

/** The schema itself, or the target of its `$ref`. */
export function resolve(schema: JsonSchema, types: Types): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const target = types[typeOfRef(schema.$ref)];
  if (target === undefined) throw new Error(`${schema.$ref} does not exist`);
  return resolve(target, types);
}

/** Returns X if the schema is "X or null", written `anyOf: [X, {type: 'null'}]`, else undefined. */
export function notNull(schema: JsonSchema): JsonSchema | undefined {
  const [first, second, ...more] = schema.anyOf ?? [];
  return second?.type === 'null' && more.length === 0 ? first : undefined;
}

/** The schemas directly inside this one. */
export function partsOf(schema: JsonSchema): JsonSchema[] {
  const properties = Object.values(schema.properties ?? {}).filter((part) => typeof part !== 'boolean');
  const others = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const single = [schema.items, others, schema.if, schema.then, schema.else].filter((part) => part !== undefined);
  return [...properties, ...single, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
}
