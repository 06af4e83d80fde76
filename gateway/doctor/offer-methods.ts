import { permitsMethod } from '../network-files/method-upstreams.ts';
import { namespaceOf } from '../network-files/namespace-of.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { coversMethod } from '../network-files/options/method-pattern.ts';
import type { MethodFindings } from './probe-methods.ts';

interface Found {
  readonly name: string;
  readonly methods?: MethodFindings;
}

type Offered = Pick<NetworkConfig, 'methods' | 'openMethods' | 'developmentMethods' | 'upstreams'>;

/**
 * The lines for a network's file with which it serves what its upstreams have: without the methods that all of them lack,
 * with those that some have, and with `methods` of each upstream that lacks some.
 * @param known names of the methods of the spec
 * @returns YAML; undefined if the file needs no change
 */
export function offerMethods(network: Offered, all: readonly Found[], known: readonly string[]): string | undefined {
  const found = all.flatMap(({ name, methods }) => (methods === undefined ? [] : [{ name, methods }]));
  // An upstream without findings may have any method.
  const lackedByAll = (method: string): boolean =>
    found.length === all.length && found.every(({ methods }) => methods.lacking.includes(method));
  const added = [...new Set(found.flatMap(({ methods }) => methods.others))];
  const removed = network.methods.filter(lackedByAll);
  // Named, methods that sign for a development node would be served in production, too.
  const named = network.methods.filter((method) => !network.developmentMethods.includes(method));
  // The wildcards of the file open a method, or have an exception for it.
  const unnamed = added.filter((method) => !network.openMethods.wildcards.some((one) => coversMethod(one, method)));
  const methods = [...named.filter((method) => !removed.includes(method)), ...unnamed];
  const rules = found.flatMap(({ name, methods: { lacking, others, failedOthers } }) => {
    const given = network.upstreams.find((upstream) => upstream.name === name)?.methods;
    const addedElsewhere = added.filter((method) => !others.includes(method) && !failedOthers.includes(method));
    const denied = [...lacking.filter((method) => !removed.includes(method)), ...addedElsewhere].filter((method) =>
      permitsMethod(given, method),
    );
    return denied.length === 0 ? [] : [ruleLines(name, given?.allow, [...(given?.deny ?? []), ...denied])];
  });
  if (unnamed.length + removed.length + rules.length === 0) return undefined;
  return [
    `methods: [${[...entriesOf(methods, known), ...wildcardsOf(network)].join(', ')}]\n`,
    ...(rules.length === 0 ? [] : ['upstreams:\n', ...rules]),
  ].join('');
}

function ruleLines(name: string, allow: readonly string[] | undefined, deny: readonly string[]): string {
  const allowed = allow === undefined ? '' : `allow: [${allow.map(quoted).join(', ')}], `;
  return `  - name: ${name}\n    methods: { ${allowed}deny: [${deny.map(quoted).join(', ')}] }\n`;
}

/** A namespace if most of its methods are served, with a minus before the others; else the methods' names. */
function entriesOf(methods: readonly string[], known: readonly string[]): string[] {
  const namespaces = [...new Set(known.map(namespaceOf))];
  const short = namespaces.flatMap((namespace) => {
    const all = known.filter((method) => namespaceOf(method) === namespace);
    const missing = all.filter((method) => !methods.includes(method));
    if (missing.length * 2 > all.length) return all.filter((method) => methods.includes(method));
    return [namespace, ...missing.map((method) => `-${method}`)];
  });
  return [...short, ...methods.filter((method) => !known.includes(method))];
}

function wildcardsOf({ openMethods: { wildcards, except } }: Offered): string[] {
  return [...wildcards, ...except.map((method) => `-${method}`)].map(quoted);
}

/** YAML would read an asterisk as an alias. */
function quoted(pattern: string): string {
  return pattern.includes('*') ? `'${pattern}'` : pattern;
}
