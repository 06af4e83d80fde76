import type * as Ajv from 'ajv/dist/2020.js';
import { loadPackage } from '../../config/load-package.ts';
import { networkOptions } from './network-options.ts';
import type { Option, OptionSchema, ValueSchema } from './option.ts';

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** A network file as a whole. */
export const networkFile = {
  title: 'map with name, chainId and upstreams',
  description: "One file per network: networks/<slug>.yaml. The slug is the file's name.",
  type: 'object',
  properties: networkOptions,
} as const satisfies OptionSchema;

/** The JSON Schema of a network file, for validation and for editors (schemas/network.schema.json). */
export function networkSchema(): object {
  return { $schema: DRAFT, ...jsonSchemaOf(networkFile) };
}

/** Options that identify a network, so that networks cannot share them. */
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
  'membersAs',
  'replaces',
  'hasVariables',
  'isFile',
  'check',
  'items',
  'properties',
  'patternProperties',
  'additionalProperties',
  'else',
]);

export function jsonSchemaOf(schema: ValueSchema): object {
  const { items, properties, patternProperties, additionalProperties, else: otherwise } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([member]) => !converted.has(member))),
    ...(items !== undefined && { items: jsonSchemaOf(items) }),
    ...(otherwise !== undefined && { else: jsonSchemaOf(otherwise) }),
    ...(additionalProperties !== undefined && { additionalProperties: jsonSchemaOf(additionalProperties) }),
    ...(patternProperties !== undefined && { patternProperties: jsonSchemasOf(patternProperties) }),
    ...(properties !== undefined && {
      additionalProperties: false,
      ...requiredOf(properties),
      properties: jsonSchemasOf(properties),
    }),
  };
}

function jsonSchemasOf(schemas: Readonly<Record<string, ValueSchema>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, jsonSchemaOf(schema)]));
}

function requiredOf(properties: NonNullable<ValueSchema['properties']>): { required?: string[] } {
  const required = Object.keys(properties).filter((name) => properties[name]?.isRequired === true);
  return required.length === 0 ? {} : { required };
}

/**
 * Compiles the schema of a file that operators write. Commands that read no such file do not load Ajv, which with the schema
 * of network files takes 30 % of the CPU of a command.
 */
export function compileFileSchema(schema: object, options: Ajv.Options = {}): Ajv.ValidateFunction {
  const { Ajv2020 } = loadPackage('ajv/dist/2020.js') as typeof Ajv;
  const ajv = new Ajv2020({
    ...{ allErrors: true, verbose: true, strict: true },
    // A test validates the schemas themselves, so that the start does not.
    validateSchema: false,
    // Optimised code is faster for thousands of values, and a file has some. It takes a third of the compilation.
    code: { optimize: false },
    ...options,
  });
  return ajv.compile(schema);
}
