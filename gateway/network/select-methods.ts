import type { Mistake } from './mistake.ts';
import { suggest } from './suggest.ts';

/** Turns `[eth, -eth_getStorageAt, zks_estimateFee]` into the names of the methods served; order does not matter. */
export function selectMethods(entries: readonly string[], known: readonly string[], mistakes: Mistake[]): string[] {
  const added = new Set<string>();
  const removed = new Set<string>();
  const namespaces = [...new Set(known.map(namespaceOf))];
  const mistakesBefore = mistakes.length;
  entries.forEach((entry, index) => {
    const name = entry.replace(/^-/, '');
    const named = known.filter((method) => method === name || namespaceOf(method) === name);
    if (named.length === 0) {
      const near = suggest(name, [...namespaces, ...known]);
      const message = `methods[${index}]: ${name} is no namespace and no method of the spec${near}`;
      mistakes.push({ path: ['methods', index], message });
    }
    for (const method of named) (entry.startsWith('-') ? removed : added).add(method);
  });
  const selected = known.filter((method) => added.has(method) && !removed.has(method));
  if (selected.length === 0 && mistakes.length === mistakesBefore) {
    const message = 'methods: none is left; name first what is served, as in [eth, net, web3, -eth_getStorageAt]';
    mistakes.push({ path: ['methods'], message });
  }
  return selected;
}

function namespaceOf(method: string): string {
  return method.slice(0, method.indexOf('_'));
}
