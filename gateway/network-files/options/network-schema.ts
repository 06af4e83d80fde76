import { networkFile } from './network-file.ts';
import type { Option, ValueSchema } from './option.ts';

/** The JSON Schema of a network file, for validation and for editors (schemas/network.schema.json). */
export function networkSchema(): object {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...jsonSchemaOf(networkFile) };
}

/** Members of a row that JSON Schema does not have, or that are converted themselves. */
const converted: ReadonlySet<string> = new Set<keyof Option<string>>([
  'isRequired',
  'replaces',
  'hasVariables',
  'isFile',
  'check',
  'items',
  'properties',
  'additionalProperties',
]);

export function jsonSchemaOf(schema: ValueSchema): object {
  const { items, properties, additionalProperties } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([member]) => !converted.has(member))),
    ...(items !== undefined && { items: jsonSchemaOf(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: jsonSchemaOf(additionalProperties) }),
    ...(properties !== undefined && {
      additionalProperties: false,
      ...requiredOf(properties),
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, jsonSchemaOf(property)]),
      ),
    }),
  };
}

function requiredOf(properties: NonNullable<ValueSchema['properties']>): { required?: string[] } {
  const required = Object.keys(properties).filter((name) => properties[name]?.isRequired === true);
  return required.length === 0 ? {} : { required };
}
