import { resolve, type JsonSchema, type Types } from './json-schema.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A part of a document in the keywords of JSON Schema that most tools read: `if`, `then` and `else` become `anyOf`, and each array has `items`. The same
 * values are valid.
 */
export function portableSchema<Part extends object>(part: Part, types: Types): Part {
  return portable(part, types) as Part;
}

function portable(part: unknown, types: Types): unknown {
  if (Array.isArray(part)) return part.map((item) => portable(item, types));
  if (typeof part !== 'object' || part === null) return part;
  const { if: condition, then: whenTrue = {}, else: whenFalse = {}, ...rest } = part as JsonSchema;
  const own = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, portable(value, types)]));
  if (rest.type === 'array' && rest.items === undefined) own['items'] = {};
  if (condition === undefined) return own;
  const choices = [whenHolds(condition, whenTrue), whenFails(condition, whenFalse, types)];
  return { ...own, anyOf: choices.map((choice) => portable(choice, types)) };
}

function whenHolds(condition: JsonSchema, schema: JsonSchema): Members {
  return isTypeOnly(condition) && schema.type === condition.type ? { ...schema } : { allOf: [condition, schema] };
}

function whenFails(condition: JsonSchema, schema: JsonSchema, types: Types): Members {
  if (isTypeOnly(condition) && excludes(schema, condition.type, types)) return { ...schema };
  const not = { not: condition };
  return Object.keys(schema).length === 0 ? not : { allOf: [not, schema] };
}

function isTypeOnly({ type, ...more }: JsonSchema): boolean {
  return type !== undefined && Object.keys(more).length === 0;
}

/** Whether no value of the type is valid. */
function excludes(schema: JsonSchema, type: JsonSchema['type'], types: Types): boolean {
  const { type: own, anyOf } = resolve(schema, types);
  return own === undefined ? anyOf?.every((one) => excludes(one, type, types)) === true : own !== type;
}
