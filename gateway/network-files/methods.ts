import { distance, suggest } from '../config/suggest.ts';
import type { Diagnostic } from './diagnostics.ts';
import type { LoadOptions, MethodFacts, NetworkConfig, OpenMethods, UpstreamConfig } from './network-config.ts';
import { bestPattern, coversMethod, isWildcard, namespaceOf } from './options/method-pattern.ts';
import { networkOptions } from './options/network-options.ts';

/** A name within this edit distance of a method of the spec is a typing error. */
const MAX_TYPO_DISTANCE = 2;

export interface SelectedMethods {
  /** Names of the served methods: those of the spec, in its order, then pass-through methods. */
  readonly methods: string[];
  readonly openMethods: OpenMethods;
}

/**
 * Selects the methods of `[eth, -eth_getStorageAt, zks_estimateFee, debug_traceBlock, trace_*]`, in any order. Methods
 * outside the spec are served as pass-through methods, by full name or by wildcard. A list of exceptions alone excludes them from
 * the default list.
 */
export function selectMethods(
  given: readonly string[],
  facts: MethodFacts,
  diagnostics: Diagnostic[],
): SelectedMethods {
  const { knownMethods } = facts;
  const isOfDefault = given.every((entry) => entry.startsWith('-'));
  const entries = isOfDefault ? [...given, ...networkOptions.methods.default] : given;
  const previousCount = diagnostics.length;
  const report = (index: number, problem: string): void => {
    diagnostics.push({ path: ['methods', index], message: `methods[${index}]: ${problem}` });
  };
  const added = new Set<string>();
  const removed = new Set<string>();
  entries.forEach((name, index) => {
    if (name.startsWith('-')) return;
    const matches = knownMethods.filter((method) => method === name || namespaceOf(method) === name);
    const problem = matches.length === 0 ? problemOf(name, facts) : undefined;
    if (problem !== undefined) report(index, problem);
    else for (const method of matches.length > 0 ? matches : [name]) added.add(method);
  });
  entries.forEach((entry, index) => {
    if (!entry.startsWith('-')) return;
    const name = entry.slice(1);
    const matches = [...knownMethods, ...added].filter(
      (method) => coversMethod(name, method) || namespaceOf(method) === name,
    );
    const isException = [...added].some((wildcard) => coversMethod(wildcard, name));
    if (matches.length === 0 && !isException) report(index, unknown(name, facts));
    for (const method of isException ? [...matches, name] : matches) removed.add(method);
  });
  const isSelected = (method: string): boolean => added.has(method) && !removed.has(method);
  const passThrough = [...added].filter((method) => !knownMethods.includes(method) && isSelected(method));
  const methods = [...knownMethods.filter(isSelected), ...passThrough.filter((name) => !isWildcard(name))];
  const wildcards = passThrough.filter(isWildcard);
  if (methods.length + wildcards.length === 0 && diagnostics.length === previousCount) {
    const message =
      'methods: the list selects no method; add namespaces or methods, as in [eth, net, web3, -eth_getStorageAt]';
    diagnostics.push({ path: ['methods'], message });
  }
  return { methods, openMethods: { wildcards, except: wildcards.length === 0 ? [] : [...removed] } };
}

/** Why a name outside the spec is no pass-through method, and no wildcard of some; undefined: it is. */
function problemOf(name: string, facts: MethodFacts): string | undefined {
  const { knownMethods, isNeverOpened } = facts;
  if (!isWildcard(name)) return isPassThrough(name, knownMethods) ? undefined : unknown(name, facts);
  const namespace = namespaceOf(name);
  if (!/^[a-z][a-z0-9]{0,20}_[a-zA-Z0-9_]*\*$/.test(name))
    return `${name} has no namespace: expected debug_* or debug_trace*`;
  if (knownMethods.some((method) => namespaceOf(method) === namespace))
    return `${name} is a namespace of the spec: ${namespace} selects its methods, and others need their full names`;
  if (isNeverOpened?.(name) === true)
    return `${name} would open methods that change a node, its files or its keys: name each method that is needed`;
  return undefined;
}

function unknown(name: string, { knownMethods }: MethodFacts): string {
  const namespaces = [...new Set(knownMethods.map(namespaceOf))];
  const problem = `${name} is neither a namespace nor a method of the spec`;
  const suggestion = suggest(name, [...namespaces, ...knownMethods]);
  const isNamespace = suggestion === '' && /^[a-z][a-z0-9]{0,20}$/.test(name);
  return isNamespace ? `${problem}; for its methods without a schema, write ${name}_*` : problem + suggestion;
}

/** Whether it is a full method name, and neither a misspelt method of the spec nor the start of one. */
function isPassThrough(name: string, known: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return (
    /^[a-z][a-z0-9]{0,20}_[a-zA-Z0-9_]{1,60}$/.test(name) &&
    !known.some((method) => method.startsWith(name) || distance(lower, method.toLowerCase()) <= MAX_TYPO_DISTANCE)
  );
}

type Rules = UpstreamConfig['methods'];

/** Whether the `methods` of an upstream permit a method, or all methods of a wildcard. */
export function permitsMethod(rules: Rules, method: string): boolean {
  if (rules === undefined) return true;
  if (rules.some((rule) => rule.startsWith('-') && coversMethod(rule.slice(1), method))) return false;
  const allowed = rules.filter((rule) => !rule.startsWith('-'));
  return allowed.length === 0 || allowed.some((pattern) => coversMethod(pattern, method));
}

/** The upstreams that `route` names for a method; undefined: none, so that every upstream may get it. */
export function routedUpstreams(method: string, route: NetworkConfig['route']): readonly string[] | undefined {
  const best = bestPattern(Object.keys(route), method);
  return best === undefined ? undefined : route[best];
}

/** The names of the upstreams that may get a method. */
export function upstreamsOf(
  method: string,
  { upstreams, route }: Pick<NetworkConfig, 'upstreams' | 'route'>,
): string[] {
  const routed = routedUpstreams(method, route);
  return upstreams
    .filter(({ name, methods }) => permitsMethod(methods, method) && routed?.includes(name) !== false)
    .map(({ name }) => name);
}

/**
 * Adds routes for methods that send transactions and have none: the route of the first method of the spec that sends some,
 * because a private transaction must not reach other upstreams by another method; or else the upstreams that `transactions`
 * names; or else all but the relays of `private`.
 */
export function withTransactionRoutes(
  network: Pick<NetworkConfig, 'methods' | 'developmentMethods' | 'route' | 'transactions' | 'private' | 'upstreams'>,
  { knownMethods, sendsTransactions }: LoadOptions,
): NetworkConfig['route'] {
  const { methods, developmentMethods, route } = network;
  const patterns = Object.keys(route);
  // The node signs what development methods send.
  const own = methods.filter((method) => !developmentMethods.includes(method));
  const sending = own.filter((method) => sendsTransactions?.(method) === true);
  const routed = [...knownMethods.filter((method) => sending.includes(method)), ...sending]
    .map((method) => bestPattern(patterns, method))
    .find((pattern) => pattern !== undefined);
  const upstreams = routed === undefined ? publicUpstreams(network) : route[routed];
  if (upstreams === undefined) return route;
  const added = sending.filter((method) => bestPattern(patterns, method) === undefined);
  return { ...route, ...Object.fromEntries(added.map((method) => [method, upstreams])) };
}

/** The names of the upstreams for transactions that are not private; undefined: all. */
function publicUpstreams({
  transactions,
  private: relays,
  upstreams,
}: Pick<NetworkConfig, 'transactions' | 'private' | 'upstreams'>): readonly string[] | undefined {
  if (typeof transactions !== 'string') return transactions;
  if (relays === undefined) return undefined;
  // An incomplete file has none.
  const { upstreams: excluded } = relays as { readonly upstreams?: readonly string[] };
  return upstreams.map(({ name }) => name).filter((name) => excluded?.includes(name) !== true);
}
