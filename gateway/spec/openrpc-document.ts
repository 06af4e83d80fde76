import { createHash } from 'node:crypto';
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

/** The properties of a network that its document shows. */
export interface DocumentedNetwork {
  readonly name: string;
  /** Names of the network's methods. */
  readonly methods: readonly string[];
  /** Wildcards of its pass-through methods. */
  readonly wildcards?: readonly string[];
  /** Methods and wildcards that these do not open. */
  readonly except?: readonly string[];
  /** Base URLs. If empty, the document has the general servers of openrpc.json. */
  readonly baseUrls: readonly string[];
}

let fullDocument: OpenRpcDocument | undefined;

/** The document with all methods of the spec, from schemas/generated/openrpc.json; read once. */
export function openRpcDocument(): OpenRpcDocument {
  const read = (): string => readFileSync(join(packageRoot, 'schemas/generated/openrpc.json'), 'utf8');
  return (fullDocument ??= JSON.parse(read()) as OpenRpcDocument);
}

/** The document of a network: its methods, the types that they use, and its URLs. */
export function documentOf(network: DocumentedNetwork): OpenRpcDocument {
  const { name, methods: served, wildcards = [], except = [], baseUrls } = network;
  const { components, info, methods: known, servers, ...frame } = openRpcDocument();
  const methods = served.map((method) => known.find((one) => one.name === method) ?? passThroughEntry(method));
  const { schemas, errors } = components;
  return {
    ...frame,
    info: { ...info, title: `${String(info['title'])}: ${name}` },
    servers: baseUrls.length === 0 ? servers : serversAt(baseUrls),
    methods,
    ...(wildcards.length > 0 && {
      'x-pass-through': { methods: wildcards, ...(except.length > 0 && { except }), summary: passThroughSummary },
    }),
    components: {
      schemas: named(schemas, typesIn(methods, schemas)),
      errors: named(errors, refsIn(methods, 'errors')),
    },
  };
}

/** Base URLs from the network's file, else the one that always works: its slug at the client's origin. */
export function documentedUrls(
  { slug, baseUrls }: { readonly slug: string; readonly baseUrls: readonly string[] },
  origin: string,
): readonly string[] {
  return baseUrls.length > 0 ? baseUrls : [`${origin}/${slug}`];
}

/** The HTTP and WebSocket URLs for each base URL, with the caller's key as a variable. */
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

const passThroughSummary =
  'A pass-through method: parameters and result are not in the spec, and are forwarded unchanged. A call is sent once: it is never hedged or cached, and sent again after a response only to read what the upstream lacks.';

/** The document entry of a pass-through method. */
function passThroughEntry(name: string): OpenRpcMethod {
  const summary = passThroughSummary;
  const anything = { name: 'result', schema: true };
  return {
    name,
    summary,
    paramStructure: 'by-position',
    params: [],
    result: anything,
    errors: [],
    examples: [],
    'x-pass-through': true,
  };
}

/** The types to which a part of the document refers, directly or through other types. */
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

/** An OpenRPC document as JSON text. Only its servers depend on a request; all else is serialised once. */
export class OpenRpcText {
  readonly #start: Buffer;
  readonly #digest: string;
  readonly #servers: readonly OpenRpcServer[];

  constructor({ servers, ...rest }: OpenRpcDocument) {
    this.#start = Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"servers":`);
    this.#digest = digestOf(this.#start);
    this.#servers = servers;
  }

  /**
   * The bytes in order, and their ETag.
   * @param servers in place of those of the document
   */
  with(servers = this.#servers): { readonly parts: readonly [Buffer, Buffer]; readonly etag: string } {
    const end = Buffer.from(`${JSON.stringify(servers)}}`);
    return { parts: [this.#start, end], etag: `"${this.#digest}${digestOf(end)}"` };
  }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
}
