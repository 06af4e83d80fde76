import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { namespaceOf } from '../gateway/network-files/options/method-pattern.ts';
import type { BlockPlace, LocalHandler, MethodGroup, ProvenPart, ResultMeaning } from '../gateway/spec/method-spec.ts';
import type { JsonSchema, Types } from './json-schema.ts';
import type { ProviderSource } from './provider-module.ts';

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

/** A method as an OpenRPC method object; `source-rules.ts` validates it. */
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

/** Properties of a method that OpenRPC has no field for. */
export interface MethodExtension {
  /** The part of the gateway that handles the method in place of an upstream: see `MethodSpec.handledBy`. */
  readonly answer?: LocalHandler;
  /** A call has an effect, as eth_sendRawTransaction has; `operation`: as eth_sendUserOperation has. */
  readonly send?: 'once' | 'operation';
  /** The group of the method, if the schema does not show it: see `MethodSpec.group`. */
  readonly group?: MethodGroup;
  /** The method runs contracts, but no call of it reverts. Its errors may contain text of a contract. */
  readonly executes?: true;
  /** The gateway itself sends this method to upstreams. The method's name in `nodeMethods`. */
  readonly role?: string;
  /** What the result says about the chain: see `MethodSpec.resultIs`. */
  readonly resultIs?: ResultMeaning;
  /** The parameter with the hash of a sent transaction, or with a sender: see `MethodSpec.tracks`. */
  readonly tracks?: { readonly transaction: string } | { readonly sender: string };
  /** Fields of the result, or of each object in it, that must equal a parameter: parameter by field. */
  readonly identity?: Readonly<Record<string, string>>;
  /** A field with whole objects if a parameter is true, and with their hashes if it is false: parameter by field. */
  readonly details?: Readonly<Record<string, string>>;
  /** The optional block parameter for which `latest` is sent if the caller omits it. */
  readonly defaultsToLatest?: string;
  /** Result null if no upstream supports the method; without this, the error is -32601. */
  readonly unsupported?: 'not-found';
  /** The parameter with a block range, if large ranges are requested in parts: see `MethodSpec.splits`. */
  readonly splits?: string;
  /** Request units of a call: a number or a formula (gateway/network-files/options/units-option.ts). Without this, 1. */
  readonly units?: number | string;
  /** Validity of a cached response: until the head changes, by the block in the result, or by the block in a parameter. */
  readonly cache?: CacheSource;
  /** Correct nodes return different results: see `MethodSpec.isUnaudited`. */
  readonly audit?: 'off';
  /** What of the result is proven from the chain: see `MethodSpec.provenAs`. */
  readonly provenAs?: ProvenPart;
  /** See `MethodSpec.isAdvice`. */
  readonly isAdvice?: true;
}

export interface ErrorSource {
  readonly code: number;
  readonly message: string;
}

/** `openrpc.yaml`: the document without methods and types. */
export interface Frame {
  readonly openrpc: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly unknown[];
  readonly components: { readonly errors: Readonly<Record<string, ErrorSource>> };
}

/** The contents of all hand-written files in `schemas/`. */
export interface Sources {
  readonly frame: Frame;
  readonly methods: readonly MethodSource[];
  readonly types: Types;
  /** `methods/pass-through.yaml`: request units of methods without a schema. */
  readonly passThroughUnits: Readonly<Record<string, number | string>>;
  /** `methods/pass-through.yaml`: the position of the filter of methods that split, as `MethodSpec.splits`. */
  readonly passThroughSplits: Readonly<Record<string, number>>;
  /** `methods/pass-through.yaml`: the group of methods without a schema, by name or by the start of the name. */
  readonly passThroughGroups: Readonly<Record<string, MethodGroup>>;
  /** `methods/pass-through.yaml`: the place of the block in methods without a schema, as `MethodSpec.blockAt`. */
  readonly passThroughBlocks: Readonly<Record<string, BlockPlace>>;
  /** `methods/development.yaml`: what development networks serve beside the methods of their files. */
  readonly developmentMethods: readonly string[];
  /** `never-opened.yaml`: methods that no wildcard opens. */
  readonly neverOpened: readonly NeverOpened[];
  /** `provider-units.yaml`: published units of providers, for comparison. */
  readonly providers: readonly ProviderUnits[];
  /** `provider-urls.yaml`: what `provider` in network files means. */
  readonly providerUrls: readonly ProviderSource[];
  /** `admin-api.yaml`: an OpenAPI document, published unchanged. */
  readonly adminApi: unknown;
}

/** Methods that no wildcard opens, as patterns, and why. */
export interface NeverOpened {
  readonly methods: readonly string[];
  readonly effect: string;
  /** Whether the methods send transactions. */
  readonly sends?: true;
  readonly source: string;
}

/** Published units of one provider. */
export interface ProviderUnits {
  readonly name: string;
  readonly unit: string;
  readonly source: string;
  readonly date: string;
  /** What its units file has beside the methods; undefined: it has none. */
  readonly others?: Readonly<Record<string, number>>;
  readonly methods: Readonly<Record<string, number>>;
}

const PASS_THROUGH = 'pass-through.yaml';
const DEVELOPMENT = 'development.yaml';

interface PassThroughSource {
  readonly units: Sources['passThroughUnits'];
  readonly splits: Sources['passThroughSplits'];
  readonly groups: Sources['passThroughGroups'];
  readonly blocks: Sources['passThroughBlocks'];
}

export function readSources(folder: string): Sources {
  const passThrough = readYaml(join(folder, 'methods', PASS_THROUGH)) as PassThroughSource;
  return {
    frame: readYaml(join(folder, 'openrpc.yaml')) as Frame,
    methods: readMethods(join(folder, 'methods')),
    types: readTypes(join(folder, 'types')),
    passThroughUnits: passThrough.units,
    passThroughSplits: passThrough.splits,
    passThroughGroups: passThrough.groups,
    passThroughBlocks: passThrough.blocks,
    developmentMethods: readYaml(join(folder, 'methods', DEVELOPMENT)) as Sources['developmentMethods'],
    neverOpened: readYaml(join(folder, 'never-opened.yaml')) as Sources['neverOpened'],
    providers: readYaml(join(folder, 'provider-units.yaml')) as Sources['providers'],
    providerUrls: readYaml(join(folder, 'provider-urls.yaml')) as Sources['providerUrls'],
    adminApi: readYaml(join(folder, 'admin-api.yaml')),
  };
}

function readMethods(folder: string): MethodSource[] {
  const files = yamlFiles(folder).filter((file) => file !== PASS_THROUGH && file !== DEVELOPMENT);
  return files.flatMap((file) => {
    const methods = readYaml(join(folder, file)) as MethodSource[];
    const namespace = file.slice(0, -'.yaml'.length);
    // A rule of this project: the namespace of a method shows its file.
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
      if (name in types) throw new Error(`types/${file}: ${name} is also defined in another file`);
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
