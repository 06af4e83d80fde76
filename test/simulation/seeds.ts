import { expect, it } from 'vitest';
import { HOUR_TIMEOUT_MS, runSimulation } from './run-simulation.ts';

/** Tests an hour of three upstreams that lag, fail and reorganise, for each seed. */
export function testSeeds(seeds: readonly number[]): void {
  it.each(seeds)(
    'seed %i: callers and subscribers find no violation',
    async (seed) => {
      const { texts, counts, faults, blocks } = await runSimulation('--seed', String(seed));
      expect(texts).toEqual([]);
      // Enough has happened.
      expect(counts.checked).toBeGreaterThan(3_000);
      expect(blocks).toBeGreaterThan(1_700);
      expect(Object.keys(faults).sort()).toEqual(['alone', 'lag', 'mute', 'outage', 'reorg', 'stuck']);
      expect(counts.errors).toBeLessThan(counts.checked / 10);
    },
    HOUR_TIMEOUT_MS,
  );
}
