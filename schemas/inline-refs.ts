import { notNull, resolve, type JsonSchema, type Types } from './json-schema.ts';

const notes = ['description', 'x-gatehouse'];

/**
 * The schema with every `$ref` replaced by its target, without keys for readers and for the generator. The parent schema
 * of an Ajv error then has the title of the violated type.
 */
export function inlineRefs(schema: JsonSchema, types: Types): JsonSchema {
  const inner = notNull(schema);
  if (inner !== undefined) return orNull(inlineRefs(inner, types));
  const target = withoutNotes(resolve(schema, types));
  const recur = (part: JsonSchema): JsonSchema => inlineRefs(part, types);
  return {
    ...target,
    ...(target.properties && { properties: mapValues(target.properties, recur) }),
    ...(target.items && { items: recur(target.items) }),
    ...(typeof target.additionalProperties === 'object' && {
      additionalProperties: recur(target.additionalProperties),
    }),
    ...(target.anyOf && { anyOf: target.anyOf.map(recur) }),
    ...(target.oneOf && { oneOf: target.oneOf.map(recur) }),
    ...(target.if && { if: recur(target.if) }),
    ...(target.then && { then: recur(target.then) }),
    ...(target.else && { else: recur(target.else) }),
  };
}

/**
 * Equivalent to `anyOf: [schema, {type: 'null'}]`. Ajv creates an error for each failed branch of an `anyOf`, even if
 * another branch succeeds, but none for an `if`. A valid value thus costs nothing, and the error of an invalid value is the
 * schema's own.
 */
export function orNull(schema: JsonSchema): JsonSchema {
  const title = schema.title === undefined ? {} : { title: schema.title };
  return { ...title, if: { type: 'null' }, else: schema };
}

function withoutNotes(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !notes.includes(key)));
}

function mapValues(
  properties: Readonly<Record<string, JsonSchema | boolean>>,
  change: (schema: JsonSchema) => JsonSchema,
): Record<string, JsonSchema | boolean> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, part]) => [name, typeof part === 'boolean' ? part : change(part)]),
  );
}
