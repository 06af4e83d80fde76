import type { Mistake } from './read-network.ts';
import { suggest } from './suggest.ts';

/** Turns `[eth, -eth_getStorageAt, zks_estimateFee]` into the names of the methods served; order does not matter. */
export function selectMethods(entries: readonly string[], known: readonly string[], mistakes: Mistake[]): string[] {
  const added = new Set<string>();
  const removed = new Set<string>();
  const namespaces = [...new Set(known.map(namespaceOf))];
  entries.forEach((entry, index) => {
    const name = entry.replace(/^-/, '');
    const named = known.filter((method) => method === name || namespaceOf(method) === name);
    if (named.length === 0) {
      const message = `methods[${index}]: ${name} is no namespace and no method of the spec${suggest(name, [...namespaces, ...known])}`;
      mistakes.push({ path: ['methods', index], message });
    }
    for (const method of named) (entry.startsWith('-') ? removed : added).add(method);
  });
  return known.filter((method) => added.has(method) && !removed.has(method));
}

function namespaceOf(method: string): string {
  return method.slice(0, method.indexOf('_'));
}
