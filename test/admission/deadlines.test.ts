import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { Deadlines, type Timed } from '../../gateway/admission/deadlines.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const deadlines = new Deadlines();
  const timedOut: string[] = [];
  const add = (name: string, afterMs: number): Timed => {
    const work = { deadline: clock.now() + afterMs, deadlinePlace: -1, timeOut: () => void timedOut.push(name) };
    deadlines.add(work);
    return work;
  };
  return { deadlines, timedOut, add };
}

it('work is ended once, at its deadline, whatever the order in which it began', () => {
  const { timedOut, add } = start();
  add('late', 300);
  add('early', 100);
  vi.advanceTimersByTime(98);
  expect(timedOut).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(timedOut).toEqual(['early']);
  add('next', 50);
  vi.advanceTimersByTime(1_000);
  expect(timedOut).toEqual(['early', 'next', 'late']);
});

it('work that has ended sets no timer, and is not ended again', () => {
  const { deadlines, timedOut, add } = start();
  const set = vi.spyOn(globalThis, 'setTimeout');
  for (let call = 0; call < 100; call++) {
    deadlines.delete(add('ended', 1_000));
    vi.advanceTimersByTime(1);
  }
  expect(set).toHaveBeenCalledTimes(1);
  add('open', 1_000);
  vi.advanceTimersByTime(998);
  expect(timedOut).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(timedOut).toEqual(['open']);
  expect(vi.getTimerCount()).toBe(0);
});

it('work that ends other work is not followed by its timeout', () => {
  const { deadlines, timedOut, add } = start();
  const timeOut = (): void => void deadlines.delete(other);
  deadlines.add({ deadline: clock.now() + 10, deadlinePlace: -1, timeOut });
  const other = add('other', 10);
  vi.advanceTimersByTime(100);
  expect(timedOut).toEqual([]);
});

it('work that began while other work is ended has its own deadline', () => {
  const { deadlines, timedOut, add } = start();
  const timeOut = (): void => void add('begun', 20);
  deadlines.add({ deadline: clock.now() + 10, deadlinePlace: -1, timeOut });
  vi.advanceTimersByTime(28);
  expect(timedOut).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(timedOut).toEqual(['begun']);
});
