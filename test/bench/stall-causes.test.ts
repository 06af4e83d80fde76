import type { Profiler } from 'node:inspector';
import { expect, it } from 'vitest';
import { causesOf } from '../../bench/stalls/stall-causes.ts';

const ORIGIN_US = 1_000_000;
const frames: readonly [url: string, functionName: string, children: number[]][] = [
  ['', '(root)', [1, 4]],
  ['node:internal/timers', 'listOnTimeout', [2]],
  ['file:///app/dist/gateway/usage/usage-ledger.js', '#write', [3]],
  ['file:///app/dist/gateway/usage/usage-store.js', 'add', []],
  ['node:_http_server', 'onParserExecute', [5]],
  ['file:///app/dist/gateway/server/http/http-server.js', 'onRequest', []],
];

/** @param leaves the node of each sample; samples are 1 ms apart, the first 1 ms after the origin */
function profileOf(leaves: readonly number[]): Profiler.Profile {
  const nodes = frames.map(([url, functionName, children], id) => ({
    ...{ id, children, hitCount: 0 },
    callFrame: { functionName, url, scriptId: '0', lineNumber: 0, columnNumber: 0 },
  }));
  const [startTime, timeDeltas] = [ORIGIN_US, leaves.map(() => 1_000)];
  return { nodes, startTime, endTime: ORIGIN_US + leaves.length * 1_000, samples: [...leaves], timeDeltas };
}

const turn = (startedAt: number, endedAt: number, messages: number) => {
  return { startedAt, endedAt, messages, ms: endedAt - startedAt };
};

it('a stall has the cause that takes half of its turn, and of functions the outermost one', () => {
  const profile = profileOf([3, 3, 5, 5, 5, 5, 5, 1, 3, 3]);
  const turns = [turn(0.5, 3.5, 4), turn(3.5, 5.5, 3), turn(5.5, 7.5, 1), turn(8.5, 10.5, 0)];
  const pauses = [{ startedAt: 6, endedAt: 7.2, kind: 'whole heap' }];
  const cause = (name: string, ...ms: number[]) => {
    return { cause: name, count: ms.length, longestMs: Math.max(...ms), totalMs: ms.reduce((sum, one) => sum + one) };
  };
  expect(causesOf(turns, pauses, profile, ORIGIN_US)).toEqual([
    cause('usage/usage-ledger: #write', 3, 2),
    cause('several requests and responses in one turn', 2),
    cause('garbage collection: whole heap', 2),
  ]);
});
