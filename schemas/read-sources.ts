import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { namespaceOf } from '../gateway/network-files/namespace-of.ts';
import type { LocalHandler } from '../gateway/spec/method-spec.ts';
import type { JsonSchema, Types } from './json-schema.ts';

export interface ParamSource {
  readonly name: string;
  readonly summary: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface ExampleSource {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly value: unknown }[];
  readonly result: { readonly name: string; readonly value: unknown };
}

/** A method as an OpenRPC method object; `source-rules.ts` holds the files to it. */
export interface MethodSource {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly paramStructure: 'by-position';
  readonly params: readonly ParamSource[];
  readonly result: { readonly name: string; readonly schema: JsonSchema };
  readonly errors: readonly { readonly $ref: string }[];
  readonly 'x-gatehouse'?: MethodExtension;
  readonly examples: readonly ExampleSource[];
}

export type CacheSource = 'head' | 'result' | { readonly at: string };

/** What OpenRPC cannot say of a method. */
export interface MethodExtension {
  /** The gateway answers by itself, and from what: see `MethodSpec`. */
  readonly answer?: LocalHandler;
  /** Asking is an act: what is sent takes effect. */
  readonly send?: 'once';
  /** It runs contracts, though no call of it ends in a revert: a contract's text may stand in its errors. */
  readonly executes?: true;
  /** Fields of the result, or of each object in it, that must be what a parameter asks for: field by parameter. */
  readonly identity?: Readonly<Record<string, string>>;
  /** The field that holds whole objects where a parameter is true and their hashes where it is false: field by parameter. */
  readonly details?: Readonly<Record<string, string>>;
  /** The answer is null where no upstream has the method; without this it is -32601. */
  readonly unsupported?: 'not-found';
  /** How much of a key's limits a call uses up; without this, 1. */
  readonly weight?: number;
  /** How long an answer may be kept: until the head moves, by the block in the result, or by that in a parameter. */
  readonly cache?: CacheSource;
}

export interface ErrorSource {
  readonly code: number;
  readonly message: string;
}

/** `openrpc.yaml`: the document before methods and types are put in. */
export interface Frame {
  readonly openrpc: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly unknown[];
  readonly components: { readonly errors: Readonly<Record<string, ErrorSource>> };
}

/** All that is written by hand under `schemas/`. */
export interface Sources {
  readonly frame: Frame;
  readonly methods: readonly MethodSource[];
  readonly types: Types;
  /** `admin-api.yaml`: an OpenAPI document, as it stands. */
  readonly adminApi: unknown;
}

export function readSources(folder: string): Sources {
  return {
    frame: readYaml(join(folder, 'openrpc.yaml')) as Frame,
    methods: readMethods(join(folder, 'methods')),
    types: readTypes(join(folder, 'types')),
    adminApi: readYaml(join(folder, 'admin-api.yaml')),
  };
}

function readMethods(folder: string): MethodSource[] {
  return yamlFiles(folder).flatMap((file) => {
    const methods = readYaml(join(folder, file)) as MethodSource[];
    const namespace = file.slice(0, -'.yaml'.length);
    // Not a rule of OpenRPC but ours: whoever looks for a method knows which file to open.
    const names = methods.map(({ name }: Partial<MethodSource>) => name ?? 'a method without a name');
    const stray = names.find((name) => namespaceOf(name) !== namespace);
    if (stray !== undefined) throw new Error(`methods/${file}: ${stray} belongs in the file of its own namespace`);
    return methods;
  });
}

function readTypes(folder: string): Types {
  const types: Record<string, JsonSchema> = {};
  for (const file of yamlFiles(folder)) {
    for (const [name, schema] of Object.entries(readYaml(join(folder, file)) as Types)) {
      if (name in types) throw new Error(`types/${file}: ${name} stands in another file too`);
      types[name] = schema;
    }
  }
  return types;
}

function yamlFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'), { merge: true }) as unknown;
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
