import { notNull, resolve, type JsonSchema, type Types } from './json-schema.ts';

const notes = ['description', 'x-gatehouse'];

/**
 * The schema with every `$ref` replaced by what it points at, and without what only people or the generator read. An
 * Ajv error's parent schema then bears the title of the type that did not fit.
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
    ...(target.anyOf && { anyOf: target.anyOf.map(recur) }),
    ...(target.oneOf && { oneOf: target.oneOf.map(recur) }),
    ...(target.if && { if: recur(target.if) }),
    ...(target.then && { then: recur(target.then) }),
    ...(target.else && { else: recur(target.else) }),
  };
}

/**
 * The same as `anyOf: [schema, {type: 'null'}]`. Ajv makes an error for each branch of an anyOf that does not fit, even
 * when another one does, but none for an `if`: a value that fits costs nothing, and one that does not is explained by
 * the schema alone.
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
