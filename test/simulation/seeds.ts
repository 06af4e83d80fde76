import { expect, it } from 'vitest';
import { HOUR_TIMEOUT_MS, runSimulation } from './run-simulation.ts';

const HOUR_MINUTES = 60;
/** Kinds of faults. */
const kinds = ['alone', 'lag', 'mute', 'outage', 'reorg', 'stuck'];

/** Tests three upstreams that lag, fail and reorganise, for each seed. @param minutes of simulated time */
export function testSeeds(seeds: readonly number[], minutes = HOUR_MINUTES): void {
  const part = minutes / HOUR_MINUTES;
  it.each(seeds)(
    'seed %i: callers and subscribers find no violation',
    async (seed) => {
      const { texts, counts, faults, blocks, wrongMarks } = await runSimulation(
        '--seed',
        String(seed),
        '--minutes',
        String(minutes),
      );
      expect(texts).toEqual([]);
      expect(wrongMarks).toBe(0);
      // Enough has happened.
      expect(counts.checked).toBeGreaterThan(3_000 * part);
      expect(blocks).toBeGreaterThan(1_700 * part);
      if (minutes === HOUR_MINUTES) expect(Object.keys(faults).sort()).toEqual(kinds);
      expect(Object.keys(faults).length).toBeGreaterThan(kinds.length / 2);
      expect(counts.errors).toBeLessThan(counts.checked / 10);
    },
    HOUR_TIMEOUT_MS,
  );
}
