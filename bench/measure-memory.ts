import { setTimeout as delay } from 'node:timers/promises';
import { CheckedCalls } from './checked-calls.ts';
import { LoadGenerator } from './load.ts';
import { cpuMicroseconds, residentMb } from './processes.ts';
import type { MemoryRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { MemoryScenario } from './scenarios.ts';

/** Wait after the start: the heap is collected twice within half a minute. */
const CALM_MS = 35_000;
/** CPU time is in ticks of 10 ms. */
const IDLE_MS = 30_000;
const SAMPLE_INTERVAL_MS = 50;

/** What a gateway with one unused network needs after its start, and its maximum of resident memory at full load. */
export async function measureMemory(
  { calls, connections, maxIdle }: MemoryScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<MemoryRound[]> {
  const measured: MemoryRound[] = [];
  for (let round = 0; round < rounds; round++) {
    const gateway = await rig.gateway({});
    const { pid, port, paths } = gateway;
    const idle = maxIdle === undefined ? {} : await measureIdle(pid);
    const load = await LoadGenerator.open({ port, paths }, connections, new CheckedCalls(calls));
    let loadedMb = 0;
    const sampling = setInterval(() => {
      loadedMb = Math.max(loadedMb, residentMb(pid));
    }, SAMPLE_INTERVAL_MS);
    await load.saturate(2 * seconds);
    clearInterval(sampling);
    load.close();
    await gateway.stop();
    measured.push({ ...idle, loadedMb, outcomes: load.outcomes });
  }
  return measured;
}

async function measureIdle(pid: number): Promise<{ idleMb: number; idleCpuMs: number }> {
  await delay(CALM_MS);
  const before = cpuMicroseconds(pid);
  await delay(IDLE_MS);
  return { idleMb: residentMb(pid), idleCpuMs: (cpuMicroseconds(pid) - before) / IDLE_MS };
}
