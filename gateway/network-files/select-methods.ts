import type { Diagnostic } from './diagnostics/diagnostic.ts';
import { coversMethod, isWildcard, namespaceOf } from './options/method-pattern.ts';
import { networkOptions } from './options/network-options.ts';
import { distance, suggest } from '../config/suggest.ts';

/** A name within this edit distance of a method of the spec is a typing error. */
const MAX_TYPO_DISTANCE = 2;

/** Wildcards of methods without a schema, without the exceptions. */
export interface OpenMethods {
  readonly wildcards: readonly string[];
  /** Methods and wildcards. */
  readonly except: readonly string[];
}

export interface SelectedMethods {
  /** Names of the served methods: those of the spec, in its order, then pass-through methods. */
  readonly methods: string[];
  readonly openMethods: OpenMethods;
}

/** Facts about methods that the network files do not have. `spec/` provides them. */
export interface MethodFacts {
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Whether no method of a wildcard may be served unless it is named singly. */
  readonly isNeverOpened?: ((wildcard: string) => boolean) | undefined;
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
