import type { Diagnostic } from './diagnostics/diagnostic.ts';
import { namespaceOf } from './namespace-of.ts';
import { distance, suggest } from '../config/suggest.ts';

/** A name within this edit distance of a method of the spec is a typing error. */
const MAX_TYPO_DISTANCE = 2;

/**
 * Converts `[eth, -eth_getStorageAt, zks_estimateFee, debug_traceBlock]` into the names of the served methods, in any
 * order. Namespaces outside the spec are served as pass-through methods, by full method name.
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
    const matches = known.filter((method) => method === name || namespaceOf(method) === name);
    if (matches.length === 0 && isAdded && isPassThrough(name, namespaces, known)) matches.push(name);
    if (matches.length === 0) {
      const near = suggest(name, [...namespaces, ...known]);
      const message = `methods[${index}]: ${name} is neither a namespace nor a method of the spec${near}`;
      diagnostics.push({ path: ['methods', index], message });
    }
    for (const method of matches) (isAdded ? added : removed).add(method);
  });
  const passThrough = [...added].filter((method) => !known.includes(method));
  const selected = [...known.filter((method) => added.has(method) && !removed.has(method)), ...passThrough];
  if (selected.length === 0 && diagnostics.length === previousCount) {
    const message =
      'methods: the list selects no method; add namespaces or methods, as in [eth, net, web3, -eth_getStorageAt]';
    diagnostics.push({ path: ['methods'], message });
  }
  return selected;
}

/** Whether it is a full method name outside the spec's namespaces, and not a misspelt method of the spec. */
function isPassThrough(name: string, namespaces: readonly string[], known: readonly string[]): boolean {
  const isFull = /^[a-z][a-z0-9]{0,20}_[a-zA-Z0-9_]{1,60}$/.test(name);
  return (
    isFull &&
    !namespaces.includes(namespaceOf(name)) &&
    !known.some((method) => distance(name, method) <= MAX_TYPO_DISTANCE)
  );
}
