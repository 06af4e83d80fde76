/**
 * Bounds of an LRUCache, in entries. Not `max`, with which lru-cache takes the memory of a full one at once: 28 bytes an
 * entry, 6 MB for all of ours.
 */
export function maxEntries(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: one };
}

function one(): number {
  return 1;
}
