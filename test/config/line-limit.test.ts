import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LineLimit } from '../../gateway/config/line-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('allows equal lines once a minute, each with the count of those since the last one', () => {
  const lines = new LineLimit();
  const taken = Array.from({ length: 13 }, () => {
    const count = lines.take('one');
    vi.advanceTimersByTime(10_000);
    return count;
  });
  expect(taken.filter((count) => count !== undefined)).toEqual([1, 6, 6]);
  expect(lines.take('other')).toBe(1);
});
