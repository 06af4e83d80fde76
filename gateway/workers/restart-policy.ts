/** While no worker serves, one is started each second at most, for a minute: what ends them may be over soon. */
const URGENT_INTERVAL_MS = 1_000;
const URGENT_MS = 60_000;
/** A worker that ends sooner after its start, or before it listens, has a short life: its end may be due to its start. */
const MIN_LIFE_MS = 10_000;
/** After several short lives, a worker waits for so many times the last one: a start that fails uses a tenth of a core at most. */
const WAIT_PER_LIFE = 15;
/** The longest wait for a worker that listened, and for one that did not. */
const MAX_WAIT_MS = { listened: 15_000, failed: 600_000 };

/** How the worker at one place lived; workers have as many places as there are to be workers. */
export interface Life {
  readonly startedAt: number;
  readonly endedAt: number;
  /** Whether it listened. */
  readonly hasListened: boolean;
  /** Short lives in a row at this place, with this one. */
  readonly shortLives: number;
}

/** What is known of all workers. */
export interface Workforce {
  readonly lastStartAt: number;
  /** When the last worker that served ended; undefined: one serves. */
  readonly unservedSince: number | undefined;
}

/** The life of a worker that has ended. @param before short lives in a row at its place */
export function lifeOf(startedAt: number, endedAt: number, hasListened: boolean, before: number): Life {
  const isShort = !hasListened || endedAt - startedAt < MIN_LIFE_MS;
  return { startedAt, endedAt, hasListened, shortLives: isShort ? before + 1 : 0 };
}

/** When the worker at a place is started again. Times are by clock.now(). */
export function restartAt(
  { startedAt, endedAt, hasListened, shortLives }: Life,
  { lastStartAt, unservedSince }: Workforce,
): number {
  const maxWaitMs = hasListened ? MAX_WAIT_MS.listened : MAX_WAIT_MS.failed;
  const waitMs = Math.min(Math.max(WAIT_PER_LIFE * (endedAt - startedAt), URGENT_INTERVAL_MS), maxWaitMs);
  const ownAt = shortLives === 0 ? endedAt : endedAt + (shortLives === 1 ? URGENT_INTERVAL_MS : waitMs);
  if (unservedSince === undefined) return ownAt;
  // More starts at a time would delay the first one.
  const urgentAt = Math.max(lastStartAt + URGENT_INTERVAL_MS, endedAt);
  return urgentAt < unservedSince + URGENT_MS ? urgentAt : Math.max(ownAt, urgentAt);
}
