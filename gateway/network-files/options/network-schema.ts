import { networkFile } from './network-file.ts';
import { networkOptions } from './network-options.ts';
import type { Option, OptionSchema, ValueSchema } from './option.ts';

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** The JSON Schema of a network file, for validation and for editors (schemas/network.schema.json). */
export function networkSchema(): object {
  return { $schema: DRAFT, ...jsonSchemaOf(networkFile) };
}

/** These identify a network, so that networks cannot share them. */
export const identifying: ReadonlySet<string> = new Set<keyof typeof networkOptions>(['name', 'chainId', 'baseUrls']);

/** The JSON Schema of defaults.yaml, for validation and for editors (schemas/defaults.schema.json). None is required. */
export function defaultsSchema(): object {
  const shared = Object.entries<OptionSchema>(networkOptions).filter(([name]) => !identifying.has(name));
  const properties = Object.fromEntries(shared.map(([name, { isRequired: _, ...option }]) => [name, option]));
  const file = {
    title: 'map with options of networks',
    description: 'Options that all networks share: networks/defaults.yaml.',
    type: 'object',
    properties,
  } as const;
  return { $schema: DRAFT, ...jsonSchemaOf(file) };
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
  'else',
]);

export function jsonSchemaOf(schema: ValueSchema): object {
  const { items, properties, additionalProperties, else: otherwise } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([member]) => !converted.has(member))),
    ...(items !== undefined && { items: jsonSchemaOf(items) }),
    ...(otherwise !== undefined && { else: jsonSchemaOf(otherwise) }),
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
