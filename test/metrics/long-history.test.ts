import { expect, it } from 'vitest';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { networkOverTime } from '../../gateway/server/pages/network-over-time.ts';

const none = new Map<string, number>();

it('has the calls of a network and the requests to its upstreams in each step', () => {
  const metrics = new Metrics();
  const { longHistory: history } = metrics;
  const call = metrics.calls.metric('five', 'eth_call');
  const upstream = metrics.upstreamMetrics('five', 'one');
  history.sample(600_000, none);
  for (let count = 0; count < 9; count++) call.count('result');
  call.count('no-upstream');
  call.count('rate-limit');
  upstream.succeeded(0.02);
  upstream.failed('transport', 0.02);
  upstream.failed('quota', 0.02);
  upstream.failed('auth', 0.02);
  upstream.failed('wrong-chain', 0.02);
  // A hedged request responded first.
  upstream.failed('cancelled', 0.02);
  // Not at the end of a step.
  history.sample(600_020, none);
  expect(history.pointsOf('1h')).toEqual([]);
  history.sample(600_030, new Map([['five one', 12]]));
  expect(history.pointsOf('24h')).toEqual([]);
  history.sample(600_600, none);
  const hour = networkOverTime('1h', history.pointsOf('1h'), 'five', ['one'], 600_030);
  expect([hour.at.length, hour.at.at(-1)]).toEqual([120, 600_000]);
  const last = (values: readonly (number | null)[] | undefined): unknown => values?.at(-1);
  expect(last(hour.network['calls'])).toBe(11);
  expect([last(hour.network['failed']), last(hour.network['rejected'])]).toEqual([1, 1]);
  const one = hour.upstreams['one'];
  const counts = { sent: 6, unreachable: 1, limited: 1, credentials: 1, otherChain: 1, invalid: 0, lag: 12 };
  expect(Object.keys(counts).map((name) => last(one?.[name]))).toEqual(Object.values(counts));
  expect(last(one?.['p50Ms'])).toBeGreaterThan(0);
  // Steps before the start are unknown.
  expect(hour.network['calls']?.[0]).toBeNull();
  const day = networkOverTime('24h', history.pointsOf('24h'), 'five', ['one'], 600_600);
  expect(last(day.network['calls'])).toBe(11);
});

it('has at most the steps of its range', () => {
  const { longHistory: history } = new Metrics();
  for (let step = 0; step < 500; step++) history.sample(step * 30, none);
  expect(history.pointsOf('1h')).toHaveLength(120);
  expect(history.pointsOf('1h').at(-1)?.at).toBe(498 * 30);
});
