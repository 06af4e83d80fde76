import type { ValidateFunction } from 'ajv/dist/2020.js';
import { compileFileSchema } from './options/network-schema.ts';
import { checkCoverage, checkNetwork } from './check-network.ts';
import { isDevelopmentNetwork } from './development-chain.ts';
import type { Diagnostic } from './diagnostics/diagnostic.ts';
import { parseYaml, type Located } from './diagnostics/parse-yaml.ts';
import { mergeDefaults, type Defaults } from './expand/defaults.ts';
import { expandProvider } from './expand/expand-provider.ts';
import type { LoadOptions } from './load-options.ts';
import { withTransactionRoutes } from './method-upstreams.ts';
import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { entriesByMethod, isWildcard } from './options/method-pattern.ts';
import { networkFile } from './options/network-schema.ts';
import { networkOptions } from './options/network-options.ts';
import { networkSchema } from './options/network-schema.ts';
import { finishTexts, readValues } from './read-values.ts';
import { selectMethods } from './select-methods.ts';

export interface ReadNetwork {
  /** Undefined only if the text is not YAML or is empty. With diagnostics it is incomplete, for further checks only. */
  readonly network: NetworkConfig | undefined;
  readonly diagnostics: readonly Located[];
  /** Finds the position of a diagnostic that depends on other files. */
  readonly locate: (diagnostic: Diagnostic) => Located;
}

/** Parses and validates the text of one network file, with the options of defaults.yaml. */
export function readNetwork(slug: string, yaml: string, options: LoadOptions, defaults?: Defaults): ReadNetwork {
  const parsed = parseYaml(yaml);
  if (parsed.diagnostics.length > 0) return { network: undefined, ...parsed };
  const { value, locate } = mergeDefaults(parsed, defaults);
  if (value === null) {
    const message = `the file is empty: expected a ${networkFile.title}`;
    return { network: undefined, diagnostics: [locate({ path: [], message })], locate };
  }
  const { values, diagnostics: schemaDiagnostics } = readValues(validator(), value);
  const { diagnostics: contentDiagnostics, network } = completeNetwork(slug, values, options);
  if (schemaDiagnostics.length + contentDiagnostics.length === 0)
    contentDiagnostics.push(...checkCoverage(network, options));
  const reportedPaths = new Set(schemaDiagnostics.map(({ path }) => path.join('.')));
  const otherDiagnostics = contentDiagnostics.filter(({ path }) => !reportedPaths.has(path.join('.')));
  return { network, diagnostics: [...schemaDiagnostics, ...otherDiagnostics].map(locate), locate };
}

type Failsafe = NetworkConfig['failsafe'][string];

function withFailsafe({ failsafe, ...upstream }: UpstreamConfig): UpstreamConfig {
  return { ...upstream, ...(failsafe !== undefined && { failsafe: entriesByMethod<Failsafe>(failsafe) }) };
}

type ReadFile = Omit<NetworkConfig, 'slug' | 'openMethods' | 'developmentMethods'>;

/** Checks what the schema cannot: texts, method names, duplicate names of upstreams. */
function completeNetwork(
  slug: string,
  values: Readonly<Record<string, unknown>>,
  options: LoadOptions,
): { diagnostics: Diagnostic[]; network: NetworkConfig } {
  const diagnostics: Diagnostic[] = [];
  // Without them, a diagnostic has been found. With `provider`, an upstream needs no name.
  const given = ((values['upstreams'] ?? []) as readonly object[]).map((upstream) => ({ name: '', ...upstream }));
  const complete = { name: '', chainId: 0, ...values, upstreams: given };
  const read = finishTexts(networkOptions, complete, [], options.env, diagnostics) as unknown as ReadFile;
  const upstreams = read.upstreams.map((upstream, index) =>
    withFailsafe(expandProvider(upstream, read.chainId, ['upstreams', index], diagnostics)),
  );
  const file = { ...read, upstreams, failsafe: entriesByMethod<Failsafe>(read.failsafe) };
  const selected = selectMethods(file.methods, options, diagnostics);
  const developmentMethods = isDevelopmentNetwork(file) ? (options.developmentMethods ?? []) : [];
  const methods = [...new Set([...selected.methods, ...developmentMethods.filter((name) => !isWildcard(name))])];
  const network: NetworkConfig = { slug, ...file, ...selected, methods, developmentMethods };
  diagnostics.push(...checkNetwork(network, options));
  if (file.public !== undefined) diagnostics.push(...(options.checkPublic?.(file.public) ?? []));
  return { diagnostics, network: { ...network, route: withTransactionRoutes(network, options) } };
}

let validate: ValidateFunction | undefined;

/** Compiled for the first file. */
function validator(): ValidateFunction {
  return (validate ??= compileFileSchema(networkSchema(), { useDefaults: true }));
}
