import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { UnsupportedMethods } from '../../gateway/upstreams/unsupported-methods.ts';

const method = 'eth_getLogs';

const newMethods = (): UnsupportedMethods => new UnsupportedMethods('node-0', openLog('silent'));

describe('a method at an upstream', () => {
  it('is skipped after three consecutive timeouts, while other methods were successful', () => {
    const methods = newMethods();
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordSuccess(method);
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordFailure(method, 'slow', false, 0);
    expect(methods.isSkipped(method)).toBe(false);
    methods.recordFailure(method, 'slow', false, 0);
    // A slow method is not unsupported: callers do not get -32601.
    expect([methods.isSkipped(method), methods.isUnsupported(method)]).toEqual([true, false]);
    expect(methods.isSkipped('eth_call')).toBe(false);
  });

  it.each([
    ['unsupported', true, true, true],
    ['malformed', true, true, false],
    ['malformed', false, false, false],
    ['transport', false, false, false],
  ] as const)(
    'after %s (with a response: %s) is skipped: %s, unsupported: %s',
    (failure, hasResponded, isSkipped, isUnsupported) => {
      const methods = newMethods();
      methods.recordFailure('eth_call', failure, hasResponded, 0);
      expect([methods.isSkipped('eth_call'), methods.isUnsupported('eth_call')]).toEqual([isSkipped, isUnsupported]);
    },
  );

  it.each(['unsupported', 'malformed'] as const)(
    'that was successful before is marked after three consecutive errors (%s) over 10 s',
    (failure) => {
      const methods = newMethods();
      methods.recordSuccess(method);
      const failedAt = (...times: number[]): boolean => {
        for (const now of times) methods.recordFailure(method, failure, true, now);
        return methods.isSkipped(method);
      };
      // Concurrent calls fail together.
      expect(failedAt(0, 1, 2, 3, 4)).toBe(false);
      methods.recordSuccess(method);
      expect(failedAt(9_000, 18_999)).toBe(false);
      methods.recordSuccess(method);
      expect(failedAt(20_000, 30_000)).toBe(false);
      expect(failedAt(30_001)).toBe(true);
    },
  );

  it('keeps its mark after a success, if a result was disproved', () => {
    const methods = newMethods();
    methods.recordFailure(method, 'disproved', true, 0);
    methods.recordSuccess(method);
    expect(methods.isSkipped(method)).toBe(true);
  });

  it('loses its mark after a success', () => {
    const methods = newMethods();
    methods.recordFailure(method, 'unsupported', true, 0);
    expect(methods.marks()).toEqual([{ method, reason: 'unsupported', deadline: 600_000 }]);
    methods.recordSuccess(method);
    expect([methods.isSkipped(method), methods.marks()]).toEqual([false, []]);
  });

  it('is logged once when it is marked, and when the mark is removed', () => {
    const lines: unknown[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
    const methods = new UnsupportedMethods('node-0', log);
    for (const now of [0, 1, 2]) methods.recordFailure(method, 'unsupported', true, now);
    methods.recordSuccess(method);
    methods.recordSuccess(method);
    expect(lines).toEqual([
      expect.objectContaining({ level: 40, upstream: 'node-0', method, reason: 'unsupported', forS: 600 }),
      expect.objectContaining({ level: 30, upstream: 'node-0', method }),
    ]);
  });
});

it('only results that are not proven may be cached of a method with a disproved one, so that caches are given up again', () => {
  const methods = newMethods();
  methods.recordFailure(method, 'disproved', true, 0);
  methods.recordSuccess(method, true);
  expect(methods.isWithoutResults(method)).toBe(true);
  methods.recordSuccess(method);
  expect(methods.isWithoutResults(method)).toBe(false);
});
