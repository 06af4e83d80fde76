import { setTimeout as delay } from 'node:timers/promises';
import { CheckedCalls } from './checked-calls.ts';
import { LoadGenerator } from './load.ts';
import { residentMb } from './processes.ts';
import type { MemoryRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { MemoryScenario } from './scenarios.ts';

const IDLE_MS = 1_000;
const SAMPLE_INTERVAL_MS = 50;

/** Resident memory of a gateway after its start, and its maximum at full load. */
export async function measureMemory(
  { calls, connections }: MemoryScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<MemoryRound[]> {
  const measured: MemoryRound[] = [];
  for (let round = 0; round < rounds; round++) {
    const gateway = await rig.gateway({});
    const { pid, port, paths } = gateway;
    await delay(Math.min(IDLE_MS, 1_000 * seconds));
    const idleMb = residentMb(pid);
    const load = await LoadGenerator.open({ port, paths }, connections, new CheckedCalls(calls));
    let loadedMb = idleMb;
    const sampling = setInterval(() => {
      loadedMb = Math.max(loadedMb, residentMb(pid));
    }, SAMPLE_INTERVAL_MS);
    await load.saturate(2 * seconds);
    clearInterval(sampling);
    load.close();
    await gateway.stop();
    measured.push({ idleMb, loadedMb, outcomes: load.outcomes });
  }
  return measured;
}
