import { vi } from 'vitest';
import type { SimulationOptions, SimulationResult } from '../../bench/simulation/simulate.ts';
import { networks } from '../../bench/soak/checked-network.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { SimulatedRandom } from '../support/simulated-random.ts';

/** Runs a network of three upstreams with modules of its own, so that no state of an earlier run remains. */
export async function runSimulation(
  seed: number,
  minutes = 60,
  options: Pick<SimulationOptions, 'wrap'> = {},
): Promise<SimulationResult> {
  vi.resetModules();
  const { installClock } = await import('../../gateway/clock/clock.ts');
  const { installRandom } = await import('../../gateway/clock/random.ts');
  const { simulate } = await import('../../bench/simulation/simulate.ts');
  const [network] = networks;
  const clock = new SimulatedClock();
  installClock(clock);
  installRandom(new SimulatedRandom(seed));
  const running = simulate({ seed, minutes, network, ...options });
  return clock.advanceUntil(running);
}
