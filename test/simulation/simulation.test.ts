import { describe, expect, it } from 'vitest';
import type { Client } from '../../bench/soak/client.ts';
import { simulate } from '../../bench/simulation/simulate.ts';
import { networks } from '../../bench/soak/checked-network.ts';
import { installClock } from '../../gateway/clock/clock.ts';
import { installRandom, random } from '../../gateway/clock/random.ts';
import { inLongRun } from '../support/long-run.ts';
import { endSimulation } from '../support/simulate-time.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { SimulatedRandom } from '../support/simulated-random.ts';
import { HOUR_TIMEOUT_MS, runSimulation } from './run-simulation.ts';

const MINUTES = inLongRun(5, 2);

describe('the simulation', () => {
  it(
    'has the same events for the same seed, and others for another seed',
    async () => {
      const [first, second, other] = await Promise.all(
        ['7', '7', '8'].map((seed) => runSimulation('--seed', seed, '--minutes', '1')),
      );
      expect(second).toEqual(first);
      expect(other?.digest).not.toBe(first?.digest);
    },
    HOUR_TIMEOUT_MS,
  );

  it(
    'finds planted violations: an older block number, and null for a block',
    async () => {
      const systemRandom = random;
      const simulated = new SimulatedClock();
      installClock(simulated);
      installRandom(new SimulatedRandom(7));
      const [network] = networks;
      const running = simulate({ seed: 7, minutes: MINUTES, network, wrap: plantViolations });
      const { kinds } = await simulated.advanceUntil(running).finally(async () => {
        await endSimulation(simulated);
        installRandom(systemRandom);
      });
      expect(kinds).toContain('older-read');
      expect(kinds).toContain('null');
    },
    HOUR_TIMEOUT_MS,
  );
});

it.each(
  // `pool`: two nodes behind one URL, of which one is often late.
  inLongRun(['nodes', 'pool'], ['pool']),
)(
  'with `verify`, results of the network %s are proven, and none of a node that is late or on another branch is disproved',
  async (network) => {
    const args = ['--network', network, '--seed', '1', '--minutes', String(MINUTES), '--verify', 'enforce'];
    const { verified, texts } = await runSimulation(...args);
    expect(texts).toEqual([]);
    expect(verified.disproved).toBe(0);
    expect(verified.proofs['root']).toBeGreaterThan(10 * MINUTES);
  },
  HOUR_TIMEOUT_MS,
);

it(
  'with a hostile node and `require`, no result is wrong, and no honest node is marked',
  async () => {
    const args = ['--seed', '1', '--minutes', String(MINUTES), '--hostile', '--verify', 'require'];
    const { faults, kinds, wrongMarks, verified } = await runSimulation(...args);
    expect(faults['hostile']).toBeGreaterThanOrEqual(Math.floor(0.8 * MINUTES));
    expect(kinds).not.toContain('wrong');
    expect([wrongMarks, verified.disproved]).toEqual([0, 0]);
    expect(verified.proofs['root']).toBeGreaterThan(20 * MINUTES);
  },
  HOUR_TIMEOUT_MS,
);

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
