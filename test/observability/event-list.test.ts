import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventList, mergeEvents, type Condition } from '../../gateway/observability/event-list.ts';

const lines: Record<string, unknown>[] = [];
const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
const slow: Condition = { kind: 'upstream', network: 'five', upstream: 'one', reason: 'slow: 900 ms' };
const dead: Condition = { kind: 'network', network: 'five', reason: 'no upstream works' };
let events: EventList;

beforeEach(() => {
  vi.useFakeTimers();
  lines.length = 0;
  events = new EventList(pino({ base: null, timestamp: false }, stream));
});
afterEach(() => {
  vi.useRealTimers();
});

it('begins an event with a condition and ends it without it, with its duration, in the list and in the log', () => {
  events.update([dead]);
  vi.advanceTimersByTime(10_000);
  events.update([dead]);
  expect(events.find({}, 10)).toMatchObject([{ ...dead, endedAt: null, forS: 10, count: 1 }]);
  vi.advanceTimersByTime(5_000);
  events.update([]);
  expect(events.find({}, 10)).toMatchObject([{ endedAt: new Date().toISOString(), forS: 15 }]);
  expect(lines).toEqual([
    { level: 40, event: 'network', network: 'five', reason: 'no upstream works', msg: 'trouble began' },
    { level: 30, event: 'network', network: 'five', reason: 'no upstream works', forS: 15, msg: 'trouble ended' },
  ]);
});

it('continues the event of a condition that returns within 5 minutes, with a count and one log line a minute', () => {
  for (let time = 0; time < 20; time++) {
    events.update([slow]);
    vi.advanceTimersByTime(1_000);
    events.update([]);
    vi.advanceTimersByTime(9_000);
  }
  expect(events.find({}, 10)).toMatchObject([{ count: 20, forS: 20 }]);
  const begun = lines.filter(({ msg }) => msg === 'trouble began');
  expect(begun.map(({ count }) => count)).toEqual([undefined, 7, 13, 19]);
  expect(lines.filter(({ msg }) => msg === 'trouble ended')).toHaveLength(4);
  vi.advanceTimersByTime(301_000);
  events.update([slow]);
  expect(events.find({}, 10)).toMatchObject([{ count: 1, endedAt: null }, { count: 20 }]);
});

it('does not log what the part itself logs', () => {
  events.update([{ ...slow, isLogged: true }]);
  events.update([]);
  expect(lines).toEqual([]);
  expect(events.find({}, 10)).toHaveLength(1);
});

it('has operations with who did them, is filtered, and has the latest 1,000 events, latest first', () => {
  events.update([dead, slow]);
  events.add({ kind: 'admin', reason: 'revoke 0123456789ab', by: 'admin API, ci' });
  expect(events.find({}, 1)).toMatchObject([{ kind: 'admin', by: 'admin API, ci', forS: 0 }]);
  expect(events.find({ kind: 'upstream', network: 'five', upstream: 'one' }, 10)).toHaveLength(1);
  expect(events.find({ network: 'six' }, 10)).toEqual([]);
  for (let index = 0; index < 1_100; index++) events.add({ kind: 'admin', reason: String(index) });
  const all = events.find({}, 2_000);
  expect([all.length, all[0]?.reason, all.at(-1)?.reason]).toEqual([1_000, '1099', '100']);
});

it('what several workers find at the same time is one event, from the first begin to the last end', () => {
  const other = new EventList(pino({ base: null, timestamp: false }, stream));
  const all = (): unknown => mergeEvents([events.find({}, 10), other.find({}, 10)]);
  events.add({ kind: 'gateway', reason: 'started' });
  events.update([dead]);
  vi.advanceTimersByTime(2_000);
  const { at } = events.find({}, 1)[0] ?? {};
  other.add({ kind: 'gateway', reason: 'started' });
  other.update([dead]);
  vi.advanceTimersByTime(8_000);
  events.update([]);
  expect(all()).toMatchObject([
    { ...dead, at, endedAt: null },
    { kind: 'gateway', reason: 'started', count: 1 },
  ]);
  vi.advanceTimersByTime(3_000);
  other.update([]);
  expect(all()).toMatchObject([{ endedAt: new Date().toISOString(), forS: 11 }, { kind: 'gateway' }]);
});

it('equal events of one worker, or of several at other times, are several', () => {
  const other = new EventList(pino({ base: null, timestamp: false }, stream));
  const reload = { kind: 'network-files', reason: 'reloaded' } as const;
  events.add(reload);
  events.add(reload);
  vi.advanceTimersByTime(20_000);
  other.add(reload);
  expect(mergeEvents([events.find({}, 10), other.find({}, 10)])).toHaveLength(3);
});
