import type { Diagnostic } from './diagnostic.ts';
import { namespaceOf } from './namespace-of.ts';
import { distance, suggest } from '../config/suggest.ts';

/** As far as this from a method of the spec, a name is a slip of the finger. */
const MAX_TYPO_DISTANCE = 2;

/**
 * Turns `[eth, -eth_getStorageAt, zks_estimateFee, debug_traceBlock]` into the names of the methods served; order does
 * not matter. Methods of namespaces that the spec does not have are served by their whole name, without schema.
 */
export function selectMethods(
  entries: readonly string[],
  known: readonly string[],
  diagnostics: Diagnostic[],
): string[] {
  const added = new Set<string>();
  const removed = new Set<string>();
  const namespaces = [...new Set(known.map(namespaceOf))];
  const previousCount = diagnostics.length;
  entries.forEach((entry, index) => {
    const isAdded = !entry.startsWith('-');
    const name = isAdded ? entry : entry.slice(1);
    const named = known.filter((method) => method === name || namespaceOf(method) === name);
    if (named.length === 0 && isAdded && isPassThrough(name, namespaces, known)) named.push(name);
    if (named.length === 0) {
      const near = suggest(name, [...namespaces, ...known]);
      const message = `methods[${index}]: ${name} is no namespace and no method of the spec${near}`;
      diagnostics.push({ path: ['methods', index], message });
    }
    for (const method of named) (isAdded ? added : removed).add(method);
  });
  const passThrough = [...added].filter((method) => !known.includes(method));
  const selected = [...known.filter((method) => added.has(method) && !removed.has(method)), ...passThrough];
  if (selected.length === 0 && diagnostics.length === previousCount) {
    const message = 'methods: none is left; name first what is served, as in [eth, net, web3, -eth_getStorageAt]';
    diagnostics.push({ path: ['methods'], message });
  }
  return selected;
}

/** A whole name of another namespace than the spec's, and no misspelt method of the spec. */
function isPassThrough(name: string, namespaces: readonly string[], known: readonly string[]): boolean {
  const isFull = /^[a-z][a-z0-9]{0,20}_[a-zA-Z0-9_]{1,60}$/.test(name);
  return (
    isFull &&
    !namespaces.includes(namespaceOf(name)) &&
    !known.some((method) => distance(name, method) <= MAX_TYPO_DISTANCE)
  );
}
