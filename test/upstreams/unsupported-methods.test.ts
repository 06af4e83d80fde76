import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { UnsupportedMethods } from '../../gateway/upstreams/unsupported-methods.ts';

const method = 'eth_getLogs';

const newMethods = (): UnsupportedMethods => new UnsupportedMethods('node-0', openLog('silent'));

describe('a method at an upstream', () => {
  it('is passed over when it took too long three times in a row, while others were answered', () => {
    const methods = newMethods();
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordSuccess(method);
    methods.recordFailure(method, 'slow', false, 0);
    methods.recordFailure(method, 'slow', false, 0);
    expect(methods.isSkipped(method)).toBe(false);
    methods.recordFailure(method, 'slow', false, 0);
    // It is not lacking: nobody is told that the method does not exist.
    expect([methods.isSkipped(method), methods.isUnsupported(method)]).toEqual([true, false]);
    expect(methods.isSkipped('eth_call')).toBe(false);
  });

  it.each([
    ['unsupported', true, true, true],
    ['malformed', true, true, false],
    ['malformed', false, false, false],
    ['transport', false, false, false],
  ] as const)('after %s (with a reply: %s) is passed over: %s, lacking: %s', (failure, hasResponded, has, hasNot) => {
    const methods = newMethods();
    methods.recordFailure('eth_call', failure, hasResponded, 0);
    expect([methods.isSkipped('eth_call'), methods.isUnsupported('eth_call')]).toEqual([has, hasNot]);
  });

  it.each(['unsupported', 'malformed'] as const)(
    'that was answered is marked after three errors (%s) in a row over 10 s, and not before',
    (failure) => {
      const methods = newMethods();
      methods.recordSuccess(method);
      const failedAt = (...times: number[]): boolean => {
        for (const now of times) methods.recordFailure(method, failure, true, now);
        return methods.isSkipped(method);
      };
      // Calls of one moment fail together.
      expect(failedAt(0, 1, 2, 3, 4)).toBe(false);
      methods.recordSuccess(method);
      expect(failedAt(9_000, 18_999)).toBe(false);
      methods.recordSuccess(method);
      expect(failedAt(20_000, 30_000)).toBe(false);
      expect(failedAt(30_001)).toBe(true);
    },
  );

  it('loses its mark with an answer', () => {
    const methods = newMethods();
    methods.recordFailure(method, 'unsupported', true, 0);
    expect(methods.marks()).toEqual([{ method, reason: 'unsupported', deadline: 600_000 }]);
    methods.recordSuccess(method);
    expect([methods.isSkipped(method), methods.marks()]).toEqual([false, []]);
  });

  it('is in the log when it is marked, once, and when the mark is removed', () => {
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
