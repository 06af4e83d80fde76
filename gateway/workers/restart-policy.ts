/** Interval of starts while no worker serves: one each second at most, for a minute: what ends them may be over soon. */
const URGENT_INTERVAL_MS = 1_000;
const URGENT_MS = 60_000;
/** A worker that ends sooner after its start, or before it listens, has a short run: its end may be due to its start. */
const MIN_RUN_MS = 10_000;
/** Wait of a worker after several short runs, in times of the last one: a start that fails uses a tenth of a core at most. */
const WAIT_PER_RUN = 15;
/** The longest wait for a worker that listened, and for one that did not. */
const MAX_WAIT_MS = { listened: 15_000, failed: 600_000 };

/** The run of the worker at one place, which has ended. There are as many places as there are to be workers. */
export interface WorkerRun {
  readonly startedAt: number;
  readonly endedAt: number;
  /** Whether it listened. */
  readonly hasListened: boolean;
  /** Short runs in a row at this place, with this one. */
  readonly shortRuns: number;
}

/** What is known of all workers, by clock.now(). */
export interface WorkerTimes {
  readonly lastStartAt: number;
  /** When the last worker that served ended; undefined: one serves. */
  readonly unservedSince: number | undefined;
}

/** The run of a worker that has ended. @param before short runs in a row at its place */
export function runOf(startedAt: number, endedAt: number, hasListened: boolean, before: number): WorkerRun {
  const isShort = !hasListened || endedAt - startedAt < MIN_RUN_MS;
  return { startedAt, endedAt, hasListened, shortRuns: isShort ? before + 1 : 0 };
}

/** When the worker at a place is started again. Times are by clock.now(). */
export function restartAt(
  { startedAt, endedAt, hasListened, shortRuns }: WorkerRun,
  { lastStartAt, unservedSince }: WorkerTimes,
): number {
  const maxWaitMs = hasListened ? MAX_WAIT_MS.listened : MAX_WAIT_MS.failed;
  const waitMs = Math.min(Math.max(WAIT_PER_RUN * (endedAt - startedAt), URGENT_INTERVAL_MS), maxWaitMs);
  const ownAt = shortRuns === 0 ? endedAt : endedAt + (shortRuns === 1 ? URGENT_INTERVAL_MS : waitMs);
  if (unservedSince === undefined) return ownAt;
  // More starts at a time would delay the first one.
  const urgentAt = Math.max(lastStartAt + URGENT_INTERVAL_MS, endedAt);
  return urgentAt < unservedSince + URGENT_MS ? urgentAt : Math.max(ownAt, urgentAt);
}
