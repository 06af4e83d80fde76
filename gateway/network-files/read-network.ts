import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, type JsonObject } from '../collections/is-object.ts';
import { checkCoverage, checkNetwork } from './check-network.ts';
import { type Defaults, mergeDefaults } from './defaults.ts';
import { type Diagnostic, formatPath, type Path, explainErrors, pathOf } from './diagnostics.ts';
import { type Env, expandText, readFileText } from './expand-text.ts';
import { withTransactionRoutes, selectMethods } from './methods.ts';
import { isDevelopmentNetwork, type LoadOptions, type NetworkConfig, type UpstreamConfig } from './network-config.ts';
import { entriesByMethod, isWildcard } from './options/method-pattern.ts';
import { networkOptions, successors } from './options/network-options.ts';
import { compileFileSchema, networkFile, networkSchema } from './options/network-schema.ts';
import type { Option, OptionSchema, ValueSchema } from './options/option.ts';
import { type Located, parseYaml } from './parse-yaml.ts';
import { expandProvider } from './providers.ts';

export interface ReadNetwork {
  /** Network; undefined only if the text is not YAML or is empty. With diagnostics it is incomplete, for further checks only. */
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

/** Validator, compiled for the first file. */
function validator(): ValidateFunction {
  return (validate ??= compileFileSchema(networkSchema(), { useDefaults: true }));
}

type Options = Readonly<Record<string, OptionSchema & Partial<Option<string>>>>;

/**
 * Validates a network file, and sets the defaults of its schema. Values of a wrong type are removed, so that further checks
 * report all other errors in the same run.
 */
function readValues(validate: ValidateFunction, given: unknown): { values: JsonObject; diagnostics: Diagnostic[] } {
  const values = isObject(given) ? structuredClone(given) : {};
  if (validate(isObject(given) ? values : given)) return { values, diagnostics: [] };
  const errors = validate.errors ?? [];
  const diagnostics = explainErrors(errors, successors);
  for (const error of errors) removeWrongValue(values, error);
  // Sets the defaults of what was removed.
  validate(values);
  return { values, diagnostics };
}

/** Removes the value of an error about its type or name. An item of a list is emptied, because paths have its index. */
function removeWrongValue(
  values: JsonObject,
  { keyword, instancePath, schemaPath, parentSchema, params }: ErrorObject,
): void {
  const path = pathOf(instancePath);
  const { additionalProperty } = params as { readonly additionalProperty?: string };
  const isWrong = keyword === 'type' || keyword === 'const' || keyword === 'enum';
  // The failed branches of a `oneOf` are reported too.
  const name = additionalProperty ?? (isWrong && !schemaPath.includes('/oneOf/') ? path.pop() : undefined);
  const parent = path.reduce<unknown>((value, part) => (value as JsonObject | undefined)?.[part], values);
  if (name === undefined || parent === undefined) return;
  if (Array.isArray(parent)) parent[Number(name)] = (parentSchema as ValueSchema).type === 'object' ? {} : '';
  else Reflect.deleteProperty(parent as object, name);
}

/** Expands variables and files with credentials, and runs the checks of the options. */
function finishTexts(
  options: Options,
  values: JsonObject,
  path: Path,
  env: Env,
  diagnostics: Diagnostic[],
): JsonObject {
  const report = (at: Path, problem: string): void =>
    void diagnostics.push({ path: at, message: `${formatPath(at)}: ${problem}` });
  return mapMembers(values, (value, name) => {
    const { hasVariables, isFile, check, items } = options[name] ?? {};
    const { properties } = items ?? {};
    if (properties !== undefined) {
      return (value as JsonObject[]).map((item, index) =>
        finishTexts(properties, item, [...path, name, index], env, diagnostics),
      );
    }
    if (hasVariables === undefined && check === undefined) return value;
    return mapTexts(value, [...path, name], (text, at) => {
      const toReport = report.bind(undefined, at);
      const isPath = isFile === true && text.startsWith('/');
      const expand = isPath ? readFileText : expandText;
      const finished = hasVariables === true ? expand(text, env, toReport) : text;
      const problem = check?.(finished, at.at(-1) ?? '');
      if (problem !== undefined) toReport(problem);
      return finished ?? '';
    });
  });
}

function mapTexts(value: unknown, path: Path, map: (text: string, path: Path) => string): unknown {
  if (typeof value === 'string') return map(value, path);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, [...path, index], map));
  return mapMembers(value as JsonObject, (member, name) => mapTexts(member, [...path, name], map));
}

function mapMembers(map: JsonObject, to: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, to(value, name)]));
}
