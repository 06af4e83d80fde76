import { expect, it } from 'vitest';
import { hangs } from '../../gateway/workers/primary.ts';

it.each([
  ['has joined and reported 4 s ago', { hasJoined: true, startedAt: 0, aliveAt: 396_000 }, false],
  ['has joined and reported 6 s ago', { hasJoined: true, startedAt: 0, aliveAt: 394_000 }, true],
  ['starts, and reported 50 s ago', { hasJoined: false, startedAt: 340_000, aliveAt: 350_000 }, false],
  ['starts, and reported 70 s ago', { hasJoined: false, startedAt: 330_000, aliveAt: 330_000 }, true],
  [
    'reports, and has not joined for more than five minutes',
    { hasJoined: false, startedAt: 99_000, aliveAt: 400_000 },
    true,
  ],
])('a worker that %s', (_, running, isHung) => {
  expect(hangs(running, 400_000)).toBe(isHung);
});
