/**
 * Limits an LRUCache by its number of entries. The option `max` would allocate the memory of a full cache at once: 28
 * bytes per entry, 6 MB for all caches of the gateway.
 */
export function maxEntries(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: one };
}

function one(): number {
  return 1;
}
