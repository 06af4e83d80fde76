import { upstreamsOf } from '../network-files/methods.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { coversMethod, isWildcard } from '../network-files/options/method-pattern.ts';

/** Methods that the same upstreams may get. */
export interface MethodRow {
  /** Names, and wildcards of methods without a schema with their exceptions, as the network file has them: `-debug_traceChain`. */
  readonly methods: readonly string[];
  /** Names of the upstreams, in the order of the network file. Empty: the gateway serves the methods itself. */
  readonly upstreams: readonly string[];
  /** Methods without a schema, which are sent once. */
  readonly isPassThrough: boolean;
}

/** Properties of a method that the table needs. */
export interface MethodKinds {
  readonly needsUpstream: (method: string) => boolean;
  readonly isInSpec: (method: string) => boolean;
}

type Routed = Pick<NetworkConfig, 'methods' | 'openMethods' | 'developmentMethods' | 'upstreams' | 'route'>;

/** Table of the upstreams that may get each method of a network, by its file. The row with the most methods is first. */
export function methodsByUpstreams(network: Routed, { needsUpstream, isInSpec }: MethodKinds): MethodRow[] {
  const rows = new Map<string, { methods: string[]; upstreams: readonly string[]; isPassThrough: boolean }>();
  for (const method of [...network.methods, ...openPatterns(network)]) {
    const isPassThrough = !isInSpec(method);
    const upstreams = needsUpstream(method) ? upstreamsOf(method, network) : [];
    const key = JSON.stringify([isPassThrough, upstreams]);
    const row = rows.get(key) ?? { methods: [], upstreams, isPassThrough };
    row.methods.push(method, ...exceptionsOf(method, network));
    rows.set(key, row);
  }
  const withoutExceptions = ({ methods }: MethodRow): number => methods.filter((name) => !name.startsWith('-')).length;
  return [...rows.values()].sort((one, other) => withoutExceptions(other) - withoutExceptions(one));
}

/** Whether every upstream may get every method, and all of them have a schema. */
export function isPlain(table: readonly MethodRow[]): boolean {
  return (
    table.filter(({ upstreams }) => upstreams.length > 0).length <= 1 &&
    !table.some(({ isPassThrough }) => isPassThrough)
  );
}

function exceptionsOf(method: string, { openMethods: { except } }: Routed): string[] {
  return isWildcard(method) ? except.filter((name) => coversMethod(method, name)).map((name) => `-${name}`) : [];
}

/** The wildcards of a network, and the parts of them that `route` or the `methods` of an upstream name. */
function openPatterns({ methods, openMethods, developmentMethods, upstreams, route }: Routed): string[] {
  const wildcards = [...openMethods.wildcards, ...developmentMethods.filter(isWildcard)];
  const rules = upstreams.flatMap((upstream) => upstream.methods ?? []).map((rule) => rule.replace(/^-/, ''));
  const parts = [...Object.keys(route), ...rules].filter(
    (pattern) => !methods.includes(pattern) && wildcards.some((wildcard) => coversMethod(wildcard, pattern)),
  );
  return [...new Set([...wildcards, ...parts])];
}
