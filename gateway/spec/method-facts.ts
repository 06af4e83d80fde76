import type { Settings } from '../config/settings.ts';
import type { LoadOptions, NetworkConfig } from '../network-files/network-config.ts';
import { bestPattern, coversMethod, isWildcard } from '../network-files/options/method-pattern.ts';
import { passThrough, type MethodSpec } from './method-spec.ts';
import {
  developmentMethods,
  methods,
  neverOpened,
  nodeMethods,
  passThroughBlocks,
  passThroughGroups,
  passThroughSends,
  passThroughSplits,
  passThroughUnits,
} from './methods.generated.ts';
import { countsOf } from './request-units.ts';

export type WildcardOptions = Pick<NetworkConfig, 'openMethods' | 'developmentMethods'>;

/** The names of all methods of the spec. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);

const known: ReadonlySet<string> = new Set(methodNames);
const handled: ReadonlySet<string> = new Set(
  methods.filter(({ handledBy }) => handledBy !== undefined).map(({ name }) => name),
);
const sending: ReadonlySet<string> = new Set(
  methods.filter(({ sends, sendsOperation }) => sends === true && sendsOperation !== true).map(({ name }) => name),
);
const withoutText: ReadonlySet<string> = new Set(
  methods.filter(({ resultHasText }) => resultHasText !== true).map(({ name }) => name),
);
const neverOpenedNames = patternOf(neverOpened);
/** Starts of names: whatever follows a name that matches, the method is never opened. */
const neverOpenedStarts = patternOf(neverOpened.filter(isWildcard));
const passThroughSendNames = patternOf(passThroughSends);

function patternOf(names: readonly string[]): RegExp {
  const anyCase = 'i';
  return new RegExp(`^(?:${names.map((one) => one.replaceAll('*', '[\\w.]*')).join('|')})$`, anyCase);
}

/** Methods that development networks serve beside the methods of their files; undefined in production. */
export function developmentMethodsIn({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): readonly string[] | undefined {
  return NODE_ENV === 'production' ? undefined : developmentMethods;
}

/** Whether a method may change a node, its files or its keys, by schemas/never-opened.yaml. */
export function changesNode(method: string): boolean {
  return neverOpenedNames.test(method);
}

/** Whether a call sends a transaction. Of methods without a schema, the name decides, by schemas/never-opened.yaml. */
export function sendsTransactions(method: string): boolean {
  return sending.has(method) || (!known.has(method) && passThroughSendNames.test(method));
}

/** Whether a result may have text, in which an upstream could echo its URL. A method without a schema may. */
export function mayReturnText(method: string): boolean {
  return !withoutText.has(method);
}

/** The wildcard that opens a method without a schema; undefined: the network does not serve it. */
export function wildcardFor(
  method: string,
  { openMethods: { wildcards, except }, developmentMethods: ofNode }: WildcardOptions,
): string | undefined {
  const covers = (wildcard: string): boolean => coversMethod(wildcard, method);
  const opening = ofNode.find(covers) ?? wildcards.find(covers);
  if (opening === undefined || !/^[a-z][a-z0-9]{0,20}_\w{1,60}$/.test(method)) return undefined;
  if (ofNode.includes(opening)) return opening;
  return changesNode(method) || except.some(covers) ? undefined : opening;
}

/** The spec of a method without a schema. @param openedBy as in `passThrough` */
export function passThroughSpec(name: string, openedBy?: string): MethodSpec {
  return passThrough(
    name,
    passThroughSplits[name],
    openedBy,
    bestOf(passThroughGroups, name),
    bestOf(passThroughBlocks, name),
  );
}

/** The entry of the longest pattern that matches the name. */
function bestOf<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  const pattern = bestPattern(Object.keys(entries), name);
  return pattern === undefined ? undefined : entries[pattern];
}

/** Whether a wildcard would open no method at all: all are in schemas/never-opened.yaml. */
export function isNeverOpened(wildcard: string): boolean {
  return neverOpenedStarts.test(wildcard.slice(0, -1));
}

/** Facts of the spec that the validation of network files needs. */
export const methodFacts = {
  knownMethods: methodNames,
  pricedMethods: Object.keys(passThroughUnits),
  countsOf,
  needsUpstream: (method: string) => !handled.has(method),
  isInSpec: (method: string) => known.has(method),
  isNeverOpened,
  sendsTransactions,
  headMethod: nodeMethods.blockByNumber,
} satisfies Partial<LoadOptions> & Record<string, unknown>;
