import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../config/package.ts';

/** An OpenRPC document: https://spec.open-rpc.org. */
export interface OpenRpcDocument {
  readonly openrpc: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly OpenRpcServer[];
  readonly methods: readonly OpenRpcMethod[];
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly errors: Readonly<Record<string, object>>;
  };
}

export interface OpenRpcServer {
  readonly name: string;
  readonly summary?: string;
  readonly url: string;
  readonly variables?: Readonly<Record<string, { readonly default: string; readonly description?: string }>>;
}

export interface OpenRpcMethod {
  readonly name: string;
  readonly summary?: string;
  readonly [more: string]: unknown;
}

/** What of a network shows in its document. */
export interface DocumentedNetwork {
  readonly name: string;
  /** Names of the methods that it serves. */
  readonly methods: readonly string[];
  /** Where it answers. None: the document says so in general, as the whole one does. */
  readonly baseUrls: readonly string[];
}

let whole: OpenRpcDocument | undefined;

/** Of all methods of the spec, from schemas/generated/openrpc.json; read once. */
export function openRpcDocument(): OpenRpcDocument {
  const read = (): string => readFileSync(join(packageRoot, 'schemas/generated/openrpc.json'), 'utf8');
  return (whole ??= JSON.parse(read()) as OpenRpcDocument);
}

/** The document limited to a network: its methods, the types that they need, and where it answers. */
export function documentOf({ name, methods: served, baseUrls }: DocumentedNetwork): OpenRpcDocument {
  const { components, info, methods: known, servers, ...frame } = openRpcDocument();
  const methods = served.map((method) => known.find((one) => one.name === method) ?? unchecked(method));
  const { schemas, errors } = components;
  return {
    ...frame,
    info: { ...info, title: `${String(info['title'])}: ${name}` },
    servers: baseUrls.length === 0 ? servers : serversAt(baseUrls),
    methods,
    components: {
      schemas: named(schemas, typesIn(methods, schemas)),
      errors: named(errors, refsIn(methods, 'errors')),
    },
  };
}

/** Over HTTP and WebSocket, for each base URL. The key is the caller's. */
export function serversAt(baseUrls: readonly string[]): OpenRpcServer[] {
  const variables = { key: { default: 'API_KEY', description: 'The API key.' } };
  return baseUrls.flatMap((given) => {
    const base = given.replace(/\/$/, '');
    return [
      { name: 'HTTP', url: `${base}/v3/\${key}`, variables },
      { name: 'WebSocket', url: `${base.replace(/^http/, 'ws')}/ws/v3/\${key}`, variables },
    ];
  });
}

/** A method that a network's file names and the spec does not know. */
function unchecked(name: string): OpenRpcMethod {
  const summary = 'Not in the spec: parameters and result pass unchecked, as the node takes and gives them.';
  const anything = { name: 'result', schema: true };
  return { name, summary, paramStructure: 'by-position', params: [], result: anything, errors: [], examples: [] };
}

/** Types that something refers to, and all that these refer to. */
function typesIn(from: unknown, schemas: Readonly<Record<string, object>>): ReadonlySet<string> {
  const found = new Set<string>();
  const follow = (part: unknown): void => {
    for (const type of refsIn(part, 'schemas')) {
      if (found.has(type)) continue;
      found.add(type);
      follow(schemas[type]);
    }
  };
  follow(from);
  return found;
}

function refsIn(part: unknown, section: 'schemas' | 'errors'): ReadonlySet<string> {
  const refs = JSON.stringify(part ?? null).matchAll(new RegExp(`"#/components/${section}/(\\w+)"`, 'g'));
  return new Set([...refs].map(([, name = '']) => name));
}

function named(all: Readonly<Record<string, object>>, names: ReadonlySet<string>): Record<string, object> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}
