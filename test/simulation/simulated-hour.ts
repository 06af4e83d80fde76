import { vi } from 'vitest';
import type { SimulationOptions, SimulationResult } from '../../bench/simulation/simulate.ts';
import type { ChainNetworkOptions } from '../../bench/soak/chain-network.ts';
import { networks } from '../../bench/soak/checked-network.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { SimulatedRandom } from '../support/simulated-random.ts';

/** An hour takes 20 to 40 s on a slow core, and more if others use it. It only ends a run that hangs: load changes no result. */
export const HOUR_TIMEOUT_MS = 400_000;

/** Runs a network of three upstreams with modules of its own, so that no state of an earlier run remains. */
export async function runSimulation(
  seed: number,
  minutes = 60,
  { verify, ...options }: Pick<SimulationOptions, 'wrap'> & Pick<ChainNetworkOptions, 'verify'> = {},
): Promise<SimulationResult> {
  vi.resetModules();
  const { installClock } = await import('../../gateway/clock/clock.ts');
  const { installRandom } = await import('../../gateway/clock/random.ts');
  const { simulate } = await import('../../bench/simulation/simulate.ts');
  const [network] = networks;
  const clock = new SimulatedClock();
  installClock(clock);
  installRandom(new SimulatedRandom(seed));
  const running = simulate({ seed, minutes, network: { ...network, verify }, ...options });
  try {
    return await clock.advanceUntil(running);
  } finally {
    // The next file in this process gets modules with the real clock.
    vi.resetModules();
  }
}
