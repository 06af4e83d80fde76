import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { packageRoot } from '../config/package.ts';
import { checkBaseUrl } from './base-url.ts';
import { expandVariables } from './expand-variables.ts';
import { explainErrors } from './explain-diagnostic.ts';
import type { LoadOptions } from './load-options.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { ConfirmNull, NetworkConfig, UpstreamConfig } from './network-config.ts';
import { parseYaml, type Located } from './parse-yaml.ts';
import { selectMethods } from './select-methods.ts';

interface NetworkFile {
  readonly name: string;
  readonly chainId: number;
  readonly baseUrls?: readonly string[];
  readonly methods?: readonly string[];
  readonly confirmNull?: ConfirmNull;
  readonly hedge?: 'off' | number;
  readonly maxLagBlocks?: number;
  readonly upstreams: readonly UpstreamConfig[];
}

export interface ReadNetwork {
  /** Undefined only if the text is not YAML or is empty. With diagnostics it is incomplete, for further checks only. */
  readonly network: NetworkConfig | undefined;
  readonly diagnostics: readonly Located[];
  /** Finds the position of a diagnostic that depends on other files. */
  readonly locate: (diagnostic: Diagnostic) => Located;
}

const DEFAULT_METHODS = ['eth', 'net', 'web3', 'rpc'];
const DEFAULT_HEDGE_MS = 50;

/** Parses and validates the text of one network file. */
export function readNetwork(slug: string, yaml: string, options: LoadOptions): ReadNetwork {
  const { value, diagnostics, locate } = parseYaml(yaml);
  if (diagnostics.length > 0) return { network: undefined, diagnostics, locate };
  if (value === null) {
    const message = 'the file is empty: expected a map with name, chainId and upstreams';
    return { network: undefined, diagnostics: [locate({ path: [], message })], locate };
  }
  const schemaDiagnostics = validate(value) ? [] : explainErrors(validate.errors ?? []);
  const { diagnostics: contentDiagnostics, network } = completeNetwork(slug, coerceNetwork(value), options);
  const reportedPaths = new Set(schemaDiagnostics.map(({ path }) => path.join('.')));
  const otherDiagnostics = contentDiagnostics.filter(({ path }) => !reportedPaths.has(path.join('.')));
  return { network, diagnostics: [...schemaDiagnostics, ...otherDiagnostics].map(locate), locate };
}

/** Applies defaults, and checks what the schema cannot: method names, variables, duplicate names. */
function completeNetwork(
  slug: string,
  file: NetworkFile,
  options: LoadOptions,
): { diagnostics: Diagnostic[]; network: NetworkConfig } {
  const diagnostics: Diagnostic[] = [];
  const methods = selectMethods(file.methods ?? DEFAULT_METHODS, options.knownMethods, diagnostics);
  const baseUrls = file.baseUrls ?? [];
  baseUrls.forEach((baseUrl, index) => {
    const problem = checkBaseUrl(baseUrl);
    if (problem !== undefined) {
      diagnostics.push({ path: ['baseUrls', index], message: `baseUrls[${index}]: ${problem}` });
    }
  });
  const names = new Map<string, number>();
  const upstreams = file.upstreams.map((upstream, index) => {
    const first = names.get(upstream.name);
    if (first === undefined) names.set(upstream.name, index);
    else if (upstream.name !== '') {
      const message = `upstreams[${index}].name is the same as upstreams[${first}].name: metrics need a unique name`;
      diagnostics.push({ path: ['upstreams', index, 'name'], message });
    }
    return expandVariables(upstream, ['upstreams', index], options.env, diagnostics);
  });
  const { name, chainId, confirmNull = 'behind', hedge = DEFAULT_HEDGE_MS, maxLagBlocks } = file;
  const hedgeAfterMs = hedge === 'off' ? undefined : hedge;
  const routing = { confirmNull, hedgeAfterMs, ...(maxLagBlocks !== undefined && { maxLagBlocks }) };
  return { diagnostics, network: { slug, name, chainId, baseUrls, methods, ...routing, upstreams } };
}

/**
 * Returns the file with empty values in place of values of the wrong type, so that one run reports all diagnostics. A file
 * that the schema accepts is unchanged.
 */
function coerceNetwork(value: unknown): NetworkFile {
  const { name, chainId, baseUrls, methods, confirmNull, hedge, maxLagBlocks, upstreams } = record(value);
  return {
    name: text(name),
    chainId: typeof chainId === 'number' ? chainId : 0,
    ...(Array.isArray(baseUrls) && { baseUrls: baseUrls.map(text) }),
    ...(Array.isArray(methods) && { methods: methods.map(text) }),
    ...((confirmNull === 'never' || confirmNull === 'always') && { confirmNull }),
    ...((hedge === 'off' || typeof hedge === 'number') && { hedge }),
    ...(typeof maxLagBlocks === 'number' && { maxLagBlocks }),
    upstreams: (Array.isArray(upstreams) ? upstreams : []).map((upstream) => coerceUpstream(record(upstream))),
  };
}

function coerceUpstream({
  name,
  url,
  websocketUrl,
  spawn,
  headers,
  timeoutMs,
  priority,
  archive,
  batch,
  limits,
}: Record<string, unknown>): UpstreamConfig {
  return {
    name: text(name),
    ...(typeof url === 'string' && { url }),
    ...(typeof websocketUrl === 'string' && { websocketUrl }),
    ...(spawn === 'anvil' && { spawn }),
    ...(headers !== undefined && {
      headers: Object.fromEntries(Object.entries(record(headers)).map(([header, value]) => [header, text(value)])),
    }),
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
    ...(typeof priority === 'number' && { priority }),
    ...(archive === true && { archive }),
    ...(batch === true && { batch }),
    ...(limits !== undefined && { limits: coerceNumbers(record(limits)) }),
  };
}

function coerceNumbers(values: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A test validates the schema itself, so that the start does not. */
const ajv = new Ajv2020({ allErrors: true, verbose: true, strict: true, validateSchema: false });
const validate: ValidateFunction = ajv.compile(
  JSON.parse(readFileSync(join(packageRoot, 'schemas/network.schema.json'), 'utf8')) as object,
);
