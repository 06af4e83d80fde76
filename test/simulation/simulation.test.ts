import { describe, expect, it } from 'vitest';
import type { Client } from '../../bench/soak/client.ts';
import { runSimulation } from './simulated-hour.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/** An hour takes 20 to 40 s on a slow core, and more if others use it. It only ends a run that hangs: load changes no result. */
const TIMEOUT_MS = 400_000;

describe('a simulated hour of three upstreams that lag, fail and reorganise', () => {
  it.each(SEEDS)(
    'seed %i: callers and subscribers find no violation',
    async (seed) => {
      const { texts, counts, faults, blocks } = await runSimulation(seed);
      expect(texts).toEqual([]);
      // Enough has happened.
      expect(counts.checked).toBeGreaterThan(3_000);
      expect(blocks).toBeGreaterThan(1_700);
      expect(Object.keys(faults).sort()).toEqual(['alone', 'lag', 'mute', 'outage', 'reorg', 'stuck']);
      expect(counts.errors).toBeLessThan(counts.checked / 10);
    },
    TIMEOUT_MS,
  );
});

describe('the simulation', () => {
  it(
    'has the same events for the same seed, and others for another seed',
    async () => {
      const first = await runSimulation(7, 10);
      const second = await runSimulation(7, 10);
      const other = await runSimulation(8, 10);
      expect(second).toEqual(first);
      expect(other.digest).not.toBe(first.digest);
    },
    TIMEOUT_MS,
  );

  it(
    'finds planted violations: an older block number, and null for a block',
    async () => {
      const { kinds } = await runSimulation(7, 10, { wrap: plantViolations });
      expect(kinds).toContain('older-read');
      expect(kinds).toContain('null');
    },
    TIMEOUT_MS,
  );
});

/** Each fourth response to some calls is wrong. */
function plantViolations(client: Client): Client {
  let count = 0;
  return {
    ...client,
    post: async (body) => {
      const text = await client.post(body);
      const { method } = JSON.parse(body) as { readonly method?: string };
      if (method === 'eth_blockNumber' && ++count % 4 === 0) {
        const response = JSON.parse(text) as { readonly result?: string };
        return JSON.stringify({ ...response, result: `0x${(Number(response.result) - 5).toString(16)}` });
      }
      if (method === 'eth_getBlockByHash' && ++count % 4 === 0) return text.replace(/"result":.*\}$/, '"result":null}');
      return text;
    },
  };
}
