import { clock, type Clock } from '../clock/clock.ts';

/**
 * Limits an LRUCache by its number of entries. The option `max` would allocate the memory of a full cache at once: 28
 * bytes per entry, 6 MB for all caches of the gateway.
 */
export function maxEntries(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: one };
}

interface ExpiringEntries extends ReturnType<typeof maxEntries> {
  readonly ttl: number;
  readonly ttlResolution: 0;
  readonly perf: Clock;
}

/** The same for entries that expire. With another resolution, lru-cache would set timers of its own. */
export function expiringEntries(entries: number, ttlMs: number): ExpiringEntries {
  return { ...maxEntries(entries), ttl: ttlMs, ttlResolution: 0, perf: clock };
}

function one(): number {
  return 1;
}
