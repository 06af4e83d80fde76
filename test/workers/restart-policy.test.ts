import { describe, expect, it } from 'vitest';
import { restartAt, runOf, type WorkerRun } from '../../gateway/workers/restart-policy.ts';

const STEP_MS = 100;
const START_MS = 1_300;

interface Place {
  /** Run that has no worker; undefined: a worker runs. */
  vacant: WorkerRun | undefined;
  startedAt: number;
  shortRuns: number;
}

interface Start {
  readonly at: number;
  readonly place: number;
  readonly isServed: boolean;
}

/**
 * Workers whose starts take 1.3 s, in simulated time.
 * @param ends whether the worker at a place ends now
 * @param startMs how long the starts at each place take, if not 1.3 s
 * @returns the starts, the times at which no worker served, and how long the workers at each place ran
 */
function simulate(
  places: number,
  durationMs: number,
  ends: (place: number, ageMs: number, now: number) => boolean,
  startMs: readonly number[] = [],
): { readonly starts: readonly Start[]; readonly unserved: readonly number[]; readonly runMs: readonly number[] } {
  const all = Array.from({ length: places }, (): Place => ({ vacant: undefined, startedAt: -60_000, shortRuns: 0 }));
  const starts: Start[] = [];
  const unserved: number[] = [];
  const runMs = all.map(() => 0);
  const times = { lastStartAt: -60_000, unservedSince: undefined as number | undefined };
  const isServed = (now: number): boolean =>
    all.some(({ vacant, startedAt }, place) => vacant === undefined && now - startedAt >= (startMs[place] ?? START_MS));
  for (let now = 0; now < durationMs; now += STEP_MS) {
    for (const [index, place] of all.entries()) {
      if (place.vacant !== undefined) continue;
      runMs[index] = (runMs[index] ?? 0) + STEP_MS;
      if (ends(index, now - place.startedAt, now)) {
        const hasListened = now - place.startedAt >= (startMs[index] ?? START_MS);
        place.vacant = runOf(place.startedAt, now, hasListened, place.shortRuns);
      }
    }
    if (!isServed(now)) unserved.push(now);
    times.unservedSince = isServed(now) ? undefined : (times.unservedSince ?? now);
    for (const [index, place] of all.entries()) {
      if (place.vacant === undefined || restartAt(place.vacant, times) > now) continue;
      Object.assign(place, { startedAt: now, shortRuns: place.vacant.shortRuns, vacant: undefined });
      times.lastStartAt = now;
      starts.push({ at: now, place: index, isServed: isServed(now) });
    }
  }
  return { starts, unserved, runMs };
}

describe('workers that are killed every 0.7 s for 15 s', () => {
  const { starts, unserved } = simulate(
    2,
    30_000,
    (place, _, now) => now <= 15_000 && now % 700 === 0 && (now / 700) % 2 === place,
  );

  it('are started once in a second at most while none serves', () => {
    const urgent = starts.filter(({ isServed }) => !isServed).map(({ at }) => at);
    expect(urgent.length).toBeGreaterThan(5);
    expect(urgent.slice(1).every((at, index) => at - (urgent[index] ?? 0) >= 1_000)).toBe(true);
  });

  it('serve again after one more start', () => {
    expect(Math.max(...unserved)).toBeLessThanOrEqual(15_000 + 1_000 + START_MS);
  });
});

describe('a worker that ends at each start', () => {
  it('costs a tenth of a core at most while another one serves', () => {
    const { runMs, starts } = simulate(2, 600_000, (place, ageMs) => place === 1 && ageMs >= START_MS - STEP_MS);
    expect(starts.length).toBeGreaterThan(20);
    expect((runMs[1] ?? 0) / 600_000).toBeLessThanOrEqual(0.1);
  });

  it('costs as much if none serves, after a minute with a start in a second', () => {
    const { runMs, starts } = simulate(1, 3_600_000, (_, ageMs) => ageMs >= START_MS - STEP_MS);
    expect(starts.filter(({ at }) => at < 60_000).length).toBeGreaterThan(30);
    const lateMs = starts.filter(({ at }) => at > 120_000).length * START_MS;
    expect(lateMs / 3_480_000).toBeLessThanOrEqual(0.1);
    expect((runMs[0] ?? 0) / 3_600_000).toBeLessThanOrEqual(0.12);
  });

  it('costs as much if its start takes long', () => {
    const { runMs } = simulate(2, 3_600_000, (place, ageMs) => place === 1 && ageMs >= 30_000, [START_MS, Infinity]);
    expect((runMs[1] ?? 0) / 3_600_000).toBeLessThanOrEqual(0.1);
  });

  it('delays no other worker', () => {
    const { starts } = simulate(3, 60_000, (place, ageMs, now) =>
      place === 1 ? ageMs >= START_MS - STEP_MS : place === 2 && now === 50_000,
    );
    expect(starts.filter(({ place }) => place === 2)).toEqual([{ at: 50_000, place: 2, isServed: true }]);
  });
});
