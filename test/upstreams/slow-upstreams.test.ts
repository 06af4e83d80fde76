import { expect, it } from 'vitest';
import { LatencyScore } from '../../gateway/upstreams/latency-score.ts';
import { slowUpstreams } from '../../gateway/upstreams/slow-upstreams.ts';

/** An upstream with this latency, after enough lookups. */
function upstreamOf(ms: number): { readonly latencyScore: LatencyScore } {
  const latencyScore = new LatencyScore();
  for (let count = 0; count < 20; count++) latencyScore.recordLatency('lookup', ms, count);
  return { latencyScore };
}

it.each([
  ['above 200 ms and five times as slow as the fastest', [900, 40], ['slow: 900 ms, the fastest upstream 40 ms']],
  ['all equally slow', [900, 800], []],
  ['five times as slow, and still fast', [150, 10], []],
  ['alone, below 2 s', [1_900], []],
  ['alone, from 2 s', [2_000], ['slow: 2000 ms']],
])('an upstream is slow: %s', (_, latencies, expected) => {
  expect([...slowUpstreams(latencies.map(upstreamOf), 20).values()]).toEqual(expected);
});

it('an upstream without calls is not slow', () => {
  expect(slowUpstreams([{ latencyScore: new LatencyScore() }, upstreamOf(40)], 20).size).toBe(0);
});
