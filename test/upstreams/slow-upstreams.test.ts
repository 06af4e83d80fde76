import { expect, it } from 'vitest';
import { LatencyScore } from '../../gateway/upstreams/latency-score.ts';
import { slowUpstreams, type ComparedUpstream } from '../../gateway/upstreams/upstream-status.ts';

const up: ComparedUpstream = {
  latencyScore: new LatencyScore(),
  pollMs: undefined,
  drain: undefined,
  health: { overtakenAt: -Infinity },
  circuit: { isClosed: true },
};

/** An upstream with this latency, after enough lookups. */
function upstreamOf(ms: number): ComparedUpstream {
  const latencyScore = new LatencyScore();
  for (let count = 0; count < 20; count++) latencyScore.recordLatency('lookup', ms, count);
  return { ...up, latencyScore };
}

it.each([
  ['above 200 ms and five times as slow as the fastest', [900, 40], ['slow: 900 ms, the fastest upstream 40 ms']],
  ['all equally slow', [900, 800], []],
  ['five times as slow, and still fast', [150, 10], []],
  ['alone, below 2 s', [1_900], []],
  ['alone, from 2 s', [2_000], ['slow: 2,000 ms']],
])('an upstream is slow: %s', (_, latencies, expected) => {
  expect([...slowUpstreams(latencies.map(upstreamOf), 20).values()]).toEqual(expected);
});

it('an upstream without calls is not slow', () => {
  expect(slowUpstreams([up, upstreamOf(40)], 20).size).toBe(0);
});

it('an upstream is slow by its polls, because its calls are hedged away', () => {
  const slow = { ...upstreamOf(60), pollMs: 3_000, health: { overtakenAt: 10 } };
  expect([...slowUpstreams([slow, { ...upstreamOf(40), pollMs: 40 }], 20)]).toEqual([
    [slow, 'slow: 3,000 ms, hedged away'],
  ]);
});

it.each([
  ['fails', { circuit: { isClosed: false } }],
  ['is drained', { drain: { at: '2026-11-29T00:00:00Z', by: 'alice' } }],
])('an upstream is not compared with one that %s', (_, state) => {
  expect(slowUpstreams([upstreamOf(900), { ...upstreamOf(18), ...state } as ComparedUpstream], 20).size).toBe(0);
});
