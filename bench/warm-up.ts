import { CheckedCalls, firstOfLoad } from './checked-calls.ts';
import { LoadGenerator, type Endpoint } from './load.ts';
import { cpuMicroseconds } from './processes.ts';
import type { CallKind } from './wallet-calls.ts';

/** CPU time of a gateway before it is measured, in which V8 compiles its code: in all, and with the calls of the scenario. */
const WARM_UP_CPU_S = 8;
const SCENARIO_CPU_S = 2;

/** What of it short rounds use, as in tests. */
const ROUNDS = 20;

export interface WarmUp {
  readonly endpoint: Endpoint;
  readonly pid: number;
  readonly connections: number;
  readonly calls: readonly CallKind[];
  /** Calls per batch; 0: single calls. */
  readonly batchSize?: number;
  readonly distinct?: number | undefined;
}

/** Sends calls until a gateway has used its CPU time, and every key is cached and has made each kind of call. */
export async function warmUp(
  { endpoint, pid, connections, calls, batchSize = 0, distinct }: WarmUp,
  seconds: number,
): Promise<void> {
  const { paths } = endpoint;
  const untilUs = (cpuS: number, since: number): number => since + Math.min(cpuS, ROUNDS * seconds) * 1e6;
  const minCalls = paths.length > 1 ? calls.length * paths.length : 0;
  // What earlier scenarios used counts, but not the start.
  const beganUs = cpuMicroseconds(pid);
  const startedUs = warm.get(pid) ?? beganUs;
  warm.set(pid, startedUs);
  const warmUs = Math.max(untilUs(WARM_UP_CPU_S, startedUs), untilUs(SCENARIO_CPU_S, beganUs));
  for (let sent = 0; sent < minCalls || cpuMicroseconds(pid) < warmUs;) {
    const checked = new CheckedCalls(calls, batchSize, distinct, distinct === undefined ? firstOfLoad() : 0);
    const load = await LoadGenerator.open(endpoint, connections, checked);
    await load.saturate(seconds);
    load.close();
    const { correct, rejected, failed } = load.outcomes;
    sent += correct + rejected + failed;
  }
}

/** The CPU time of each process at its first warm-up. */
const warm = new Map<number, number>();
