import { availableParallelism, totalmem } from 'node:os';
import { processBounds } from '../config/process-bounds.ts';
import { shareOf, type Settings } from '../config/settings.ts';
import { cgroupCores, cgroupLimit } from '../memory/cgroup-limit.ts';

/** Memory of a worker under load. If each has less, fewer workers serve more calls. */
const MIN_WORKER_BYTES = 256 * 2 ** 20;

/** Memory of the primary. */
const PRIMARY_MB = 64;

/** What the machine or the container gives the process. */
export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

export function thisMachine(): Machine {
  return {
    cores: Math.min(availableParallelism(), cgroupCores()),
    memoryBytes: Math.min(totalmem(), cgroupLimit()),
  };
}

/** WORKERS. By default, in production one for each whole core, and for each 256 MiB of memory; one elsewhere. */
export function workersOf(
  { WORKERS: given, NODE_ENV, MEMORY_LIMIT_MB }: Pick<Settings, 'WORKERS' | 'NODE_ENV' | 'MEMORY_LIMIT_MB'>,
  { cores, memoryBytes }: Machine,
): number {
  if (given !== undefined) return given;
  if (NODE_ENV !== 'production') return 1;
  const bytes = MEMORY_LIMIT_MB === undefined ? memoryBytes : MEMORY_LIMIT_MB * 2 ** 20;
  return Math.max(1, Math.floor(Math.min(cores, bytes / MIN_WORKER_BYTES)));
}

/** One caller may use half of the budget of bytes, which must have space for the largest response. */
const RESPONSES_IN_BUDGET = 2;

/** The settings of one of several workers. Without MEMORY_LIMIT_MB, each would take the memory of the machine for its own. */
export function settingsOfWorker(settings: Settings, workers: number, { memoryBytes }: Machine): Settings {
  const machineMb = settings.MEMORY_LIMIT_MB ?? Math.floor(memoryBytes / 2 ** 20);
  const share = shareOf({ ...settings, MEMORY_LIMIT_MB: Math.max(1, machineMb - PRIMARY_MB) }, workers);
  const minBytes = Math.min(settings.BODIES_MAX_BYTES, RESPONSES_IN_BUDGET * processBounds.upstreamResponseMaxBytes);
  return { ...share, BODIES_MAX_BYTES: Math.max(share.BODIES_MAX_BYTES, minBytes) };
}
