import { setTimeout as delay } from 'node:timers/promises';
import { CheckedCalls } from './checked-calls.ts';
import { Lines } from './load.ts';
import { residentMb } from './processes.ts';
import type { MemoryRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { MemoryScenario } from './scenarios.ts';

const REST_MS = 1_000;
const EVERY_MS = 50;

/** Resident memory of a gateway that has just started, and the most of it under as many calls as it can do. */
export async function measureMemory(
  { calls, connections }: MemoryScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<MemoryRound[]> {
  const found: MemoryRound[] = [];
  for (let round = 0; round < rounds; round++) {
    const gateway = await rig.gateway({});
    const { pid, port, paths } = gateway;
    await delay(Math.min(REST_MS, 1_000 * seconds));
    const idleMb = residentMb(pid);
    const lines = await Lines.open({ port, paths }, connections, new CheckedCalls(calls));
    let loadedMb = idleMb;
    const looking = setInterval(() => {
      loadedMb = Math.max(loadedMb, residentMb(pid));
    }, EVERY_MS);
    await lines.flood(2 * seconds);
    clearInterval(looking);
    lines.close();
    await gateway.stop();
    found.push({ idleMb, loadedMb, outcomes: lines.outcomes });
  }
  return found;
}
