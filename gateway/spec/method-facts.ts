import type { LoadOptions } from '../network-files/load-options.ts';
import { coversMethod } from '../network-files/options/method-pattern.ts';
import type { OpenMethods } from '../network-files/select-methods.ts';
import { methods, neverOpened, nodeMethods } from './methods.generated.ts';
import { countsOf } from './request-units.ts';

/** The names of all methods of the spec. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);

const known: ReadonlySet<string> = new Set(methodNames);
const handled: ReadonlySet<string> = new Set(
  methods.filter(({ handledBy }) => handledBy !== undefined).map(({ name }) => name),
);
const anyCase = 'i';
const neverOpenedNames = new RegExp(
  `^(?:${neverOpened.map((one) => one.replaceAll('*', '\\w*')).join('|')})$`,
  anyCase,
);
/** Of namespaces of which no method is opened. */
const closedNamespaces = neverOpened.filter((one) => /^[^*]+_\*$/.test(one));

/** Whether a method may change a node, its files or its keys, by schemas/never-opened.yaml. */
export function changesNode(method: string): boolean {
  return neverOpenedNames.test(method);
}

/** The wildcard that opens a method without a schema; undefined: the network does not serve it. */
export function wildcardFor(method: string, { wildcards, except }: OpenMethods): string | undefined {
  const opening = wildcards.find((wildcard) => coversMethod(wildcard, method));
  if (opening === undefined || !/^[a-z][a-z0-9]{0,20}_\w{1,60}$/.test(method)) return undefined;
  return changesNode(method) || except.some((one) => coversMethod(one, method)) ? undefined : opening;
}

/** Whether a wildcard would open no method at all: all are in schemas/never-opened.yaml. */
export function isNeverOpened(wildcard: string): boolean {
  return closedNamespaces.some((one) => coversMethod(one, wildcard));
}

/** What the validation of network files needs from the spec. */
export const methodFacts = {
  knownMethods: methodNames,
  countsOf,
  needsUpstream: (method: string) => !handled.has(method),
  isInSpec: (method: string) => known.has(method),
  isNeverOpened,
  headMethod: nodeMethods.blockByNumber,
} satisfies Partial<LoadOptions> & Record<string, unknown>;
