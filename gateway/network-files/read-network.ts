import type { ValidateFunction } from 'ajv/dist/2020.js';
import { compileFileSchema } from './options/network-schema.ts';
import { checkFailsafe } from './checks/check-failsafe.ts';
import { checkCoverage, checkRoutes, checkTransactions } from './check-routes.ts';
import { checkUnits } from './checks/check-units.ts';
import { isDevelopmentNetwork } from './development-chain.ts';
import type { Diagnostic } from './diagnostics/diagnostic.ts';
import { parseYaml, type Located } from './diagnostics/parse-yaml.ts';
import { mergeDefaults, type Defaults } from './expand/defaults.ts';
import { checkConnection } from './checks/check-connection.ts';
import { expandProvider } from './expand/expand-provider.ts';
import type { LoadOptions } from './load-options.ts';
import { withTransactionRoutes } from './method-upstreams.ts';
import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { isWildcard, coversMethod } from './options/method-pattern.ts';
import { networkFile } from './options/network-schema.ts';
import { networkOptions } from './options/network-options.ts';
import { networkSchema } from './options/network-schema.ts';
import { finishTexts, readValues } from './read-values.ts';
import { selectMethods } from './select-methods.ts';
import { checkGroups } from './upstream-group.ts';
import { suggest } from '../config/suggest.ts';
import { namespaceOf } from './namespace-of.ts';

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
    expandProvider(upstream, read.chainId, ['upstreams', index], diagnostics),
  );
  const file = { ...read, upstreams };
  const selected = selectMethods(file.methods, options, diagnostics);
  const developmentMethods = isDevelopmentNetwork(file) ? (options.developmentMethods ?? []) : [];
  const methods = [...new Set([...selected.methods, ...developmentMethods.filter((name) => !isWildcard(name))])];
  const network: NetworkConfig = { slug, ...file, ...selected, methods, developmentMethods };
  const served = [...methods, ...selected.openMethods.wildcards, ...developmentMethods.filter(isWildcard)];
  diagnostics.push(...checkUnits(file.units, served, options.countsOf, ['units']), ...checkRoutes(network, options));
  diagnostics.push(...checkTransactions(network, options));
  diagnostics.push(
    ...checkFailsafe(file, served, options),
    ...checkGroups(file),
    ...upstreams.flatMap((upstream, index) => checkConnection(upstream, ['upstreams', index])),
  );
  if (file.public !== undefined) {
    diagnostics.push(...checkPublicMethods(file.public.methods, served), ...(options.checkPublic?.(file.public) ?? []));
  }
  findDuplicateNames(file.upstreams, diagnostics);
  return { diagnostics, network: { ...network, route: withTransactionRoutes(network, options) } };
}

function findDuplicateNames(upstreams: readonly UpstreamConfig[], diagnostics: Diagnostic[]): void {
  const indexes = new Map<string, number>();
  for (const [index, { name }] of upstreams.entries()) {
    const first = indexes.get(name);
    if (first === undefined) indexes.set(name, index);
    else if (name !== '') {
      const message = `upstreams[${index}].name is the same as upstreams[${first}].name: metrics need a unique name`;
      diagnostics.push({ path: ['upstreams', index, 'name'], message });
    }
  }
}

let validate: ValidateFunction | undefined;

/** Compiled for the first file. */
function validator(): ValidateFunction {
  return (validate ??= compileFileSchema(networkSchema(), { useDefaults: true }));
}

/** @param names of `public.methods`  @param served methods and wildcards of the network */
function checkPublicMethods(names: readonly string[] = [], served: readonly string[]): Diagnostic[] {
  const namespaces = [...new Set(served.map(namespaceOf))];
  return names.flatMap((name, index) => {
    // Another value has a diagnostic of the schema.
    if (name === '' || namespaces.includes(name) || served.some((one) => coversMethod(one, name))) return [];
    const message = `public.methods[${index}]: ${name} is no method or namespace of the network${suggest(name, [...namespaces, ...served])}`;
    return [{ path: ['public', 'methods', index], message }];
  });
}
