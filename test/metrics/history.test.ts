import { describe, expect, it } from 'vitest';
import type { HistoryPoint, HistoryTotals } from '../../gateway/metrics/history.ts';
import { histogram } from '../../gateway/metrics/instruments.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { removeSeries } from '../../gateway/metrics/series.ts';
import { gatewayOverTime, networkOverTime, type NetworkPoints } from '../../gateway/server/pages/network-over-time.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { activeUpstream } from './active-upstream.ts';

const time = simulateTime();

const networkOf = (points: readonly HistoryPoint[], ...upstreams: string[]): NetworkPoints => ({
  ...{ slug: 'five', upstreams, points, recent: [] },
});

/** Metrics of which the first step has begun. */
async function openMetrics(): Promise<Metrics> {
  const metrics = new Metrics();
  await time().advance(3_600_000 - (time().unixMs() % 3_600_000));
  metrics.history.sample([]);
  return metrics;
}

/** Ends a step of 30 s, or one of others. */
async function endStep({ history }: Metrics, active = [activeUpstream()], stepS = 30): Promise<void> {
  await time().advance(stepS * 1000);
  history.sample(active);
}

const secondsOf = ({ registry }: Metrics, method: string) =>
  histogram(registry, 'gatehouse_call_duration_seconds').labels('five', method);

const last = (values: readonly (number | null)[] | undefined): unknown => values?.at(-1);

describe('the history over time', () => {
  it('has the calls of a network and the requests to its upstreams in each step', async () => {
    const metrics = await openMetrics();
    const { history } = metrics;
    const call = metrics.callMetric('five', 'eth_call');
    const upstream = metrics.upstreamMetrics('five', 'one');
    for (let count = 0; count < 9; count++) call.count('result');
    call.count('no-upstream');
    call.count('rate-limit');
    upstream.succeeded(0.02);
    for (const failure of ['transport', 'quota', 'auth', 'wrong-chain']) upstream.failed(failure, 0.02);
    // A hedged request responded first.
    upstream.failed('cancelled', 0.02);
    await endStep(metrics, [activeUpstream({ lag: 12 })]);
    expect(history.pointsOf('24h')).toEqual([]);
    const shown = (range: '1h' | '24h') =>
      networkOverTime(range, networkOf(history.pointsOf(range), 'one'), time().unixMs() / 1000);
    const hour = shown('1h');
    expect([hour.at.length, hour.at.at(-1)]).toEqual([120, time().unixMs() / 1000 - 30]);
    expect(last(hour.network['calls'])).toBe(11);
    expect([last(hour.network['failed']), last(hour.network['rejected'])]).toEqual([1, 1]);
    const one = hour.upstreams['one'];
    const counts = { sent: 6, unreachable: 1, limited: 1, credentials: 1, otherChain: 1, invalid: 0, lag: 12 };
    expect(Object.keys(counts).map((name) => last(one?.[name]))).toEqual(Object.values(counts));
    expect(last(one?.['p50Ms'])).toBeGreaterThan(0);
    // Steps before the start are unknown.
    expect(hour.network['calls']?.[0]).toBeNull();
    await endStep(metrics, [activeUpstream()], 570);
    const day = shown('24h');
    expect([last(day.network['calls']), last(day.upstreams['one']?.['lag'])]).toEqual([11, null]);
  });

  it('has the totals of a range, and in which part of each step no upstream worked', async () => {
    const metrics = await openMetrics();
    const { history } = metrics;
    const up = activeUpstream({ isMeasured: true });
    const down = { ...up, circuit: 'open' } as const;
    metrics.callMetric('five', 'eth_call').count('result');
    await endStep(metrics, [up, { ...down, upstream: 'other' }]);
    metrics.callMetric('five', 'eth_call').count('no-upstream');
    secondsOf(metrics, 'eth_call').observe(0.02);
    await endStep(metrics, [down, { ...down, upstream: 'other' }]);
    const [points, nowS] = [history.pointsOf('1h'), time().unixMs() / 1000];
    const { total, down: shares, uptime } = networkOverTime('1h', networkOf(points, 'one', 'other'), nowS);
    expect(shares.slice(-3)).toEqual([null, 0, 1]);
    expect(uptime).toBe(0.5);
    expect(total).toMatchObject({ calls: 2, failed: 1, rejected: 0 });
    expect(total['p99Ms']).toBeGreaterThan(0);
  });

  it('has the sum of several networks, of which the longest outage counts', async () => {
    const metrics = await openMetrics();
    const { history } = metrics;
    for (const network of ['five', 'six', 'six']) metrics.callMetric(network, 'eth_call').count('result');
    secondsOf(metrics, 'eth_call').observe(0.02);
    const up = activeUpstream({ isMeasured: true });
    await endStep(metrics, [up, { ...up, network: 'six', circuit: 'open' }]);
    const [points, nowS] = [history.pointsOf('1h'), time().unixMs() / 1000];
    const networks = ['five', 'six'].map((slug) => ({ slug, upstreams: ['one'], points, recent: [] }));
    const { network, total, down } = gatewayOverTime('1h', networks, nowS);
    expect([last(network['calls']), last(down), total['calls']]).toEqual([3, 1, 3]);
    expect(last(network['p50Ms'])).toBeGreaterThan(0);
    expect(network['calls']?.[0]).toBeNull();
    // The step of a day is in progress, the hour before has ended.
    await endStep(metrics, [], 3_600);
    metrics.callMetric('five', 'eth_call').count('result');
    await endStep(metrics, []);
    const [days, recent] = [history.pointsOf('90d'), history.pointsOf('1h')];
    const ofDays = networks.map((one) => ({ ...one, points: days, recent }));
    const [firstOf] = ofDays;
    // The hour that was up, of the step in progress.
    if (firstOf !== undefined) expect(networkOverTime('90d', firstOf, time().unixMs() / 1000).uptime).toBe(1);
    const year = gatewayOverTime('90d', ofDays, time().unixMs() / 1000);
    expect([last(year.network['calls']), year.total['calls']]).toEqual([null, 4]);
  });

  it('has at most the steps of its range', async () => {
    const metrics = await openMetrics();
    for (let step = 0; step < 200; step++) await endStep(metrics);
    expect(metrics.history.pointsOf('1h')).toHaveLength(120);
  });

  it('has the hours of a day when they end, as parts that stores add up', async () => {
    const metrics = await openMetrics();
    const { history } = metrics;
    const parts: number[] = [];
    history.onPoint = (range, { values }) => void (range === '90d' && parts.push(values[0] ?? 0));
    for (const calls of [2, 3]) {
      for (let count = 0; count < calls; count++) metrics.callMetric('five', 'eth_call').count('result');
      await endStep(metrics, [], 3_600);
    }
    expect(parts).toEqual([2, 3]);
    expect(history.pointsOf('90d').map(({ values }) => values[0])).toEqual([5]);
  });

  it('has the counts of other workers from the first time on, also of one that has ended', async () => {
    const { history } = await openMetrics();
    const counted = (calls: number): HistoryTotals => {
      const metrics = new Metrics();
      const call = metrics.callMetric('five', 'eth_call');
      for (let count = 0; count < calls; count++) call.count('result');
      return metrics.history.totals();
    };
    const callsAfter = async (others: Readonly<Record<number, number>>): Promise<unknown> => {
      await time().advance(30_000);
      history.sample([], new Map(Object.entries(others).map(([id, calls]) => [Number(id), counted(calls)])));
      const { network } = networkOverTime('1h', networkOf(history.pointsOf('1h')), time().unixMs() / 1000);
      return last(network['calls']);
    };
    expect(await callsAfter({ 1: 1_000 })).toBe(0);
    expect(await callsAfter({ 1: 1_010, 2: 500 })).toBe(10);
    expect(await callsAfter({ 1: 1_020, 2: 505 })).toBe(15);
    expect(await callsAfter({ 2: 507 })).toBe(2);
    // A counter that restarts is counted from 0.
    expect(await callsAfter({ 2: 7 })).toBe(7);
  });
});

describe('the calls of a network in the last minute', () => {
  it('have a rate, quantiles of their duration, and a share of cache hits', async () => {
    const metrics = new Metrics();
    const { history } = metrics;
    const seconds = secondsOf(metrics, 'eth_call');
    const lookup = metrics.cacheMetric('five', 'eth_call');
    seconds.observe(20);
    lookup('miss');
    history.sample([]);
    expect(history.activityOf('five')).toBeUndefined();
    // Only what came since the first sample counts.
    for (let call = 0; call < 98; call++) seconds.observe(0.02);
    secondsOf(metrics, 'eth_getLogs').observe(0.4);
    seconds.observe(100);
    for (const outcome of ['hit', 'redis', 'hit', 'miss'] as const) lookup(outcome);
    await endStep(metrics, []);
    const activity = history.activityOf('five');
    expect(activity).toMatchObject({ cacheHitRate: 0.75 });
    expect(activity?.perSecond).toBeCloseTo(100 / 30, 5);
    // In the bucket from 10 to 25 ms, and at the upper end of the one from 250 to 500 ms.
    expect(activity?.p50Ms).toBeCloseTo(10 + 15 * (50 / 98), 5);
    expect(activity?.p99Ms).toBeCloseTo(500, 5);
    expect(history.activityOf('six')).toEqual({
      ...{ perSecond: 0, p50Ms: undefined, p99Ms: undefined },
      ...{ cacheHitRate: undefined, failedShare: undefined, rejectedShare: undefined },
    });
  });

  it('are those of two steps, and the highest bound for longer calls', async () => {
    const metrics = await openMetrics();
    const seconds = secondsOf(metrics, 'eth_call');
    for (let step = 0; step < 4; step++) {
      await endStep(metrics);
      seconds.observe(100);
    }
    // The last call is later than the last sample.
    const activity = metrics.history.activityOf('five');
    expect(activity?.perSecond).toBeCloseTo(2 / 60, 5);
    expect([activity?.p50Ms, activity?.p99Ms]).toEqual([30_000, 30_000]);
  });
});

describe('the last ten minutes of an upstream', () => {
  it('have the increase of its counters in each step', async () => {
    const metrics = await openMetrics();
    const one = metrics.upstreamMetrics('five', 'one');
    const two = metrics.upstreamMetrics('five', 'two');
    one.succeeded(0.5);
    one.failed('transport', 0.25);
    one.failed('cancelled', 0.25);
    two.succeeded(1);
    await endStep(metrics);
    one.succeeded(2);
    one.unusable('rate');
    await endStep(metrics);
    expect(one.history()).toEqual([
      { sent: 3, failed: 1, seconds: 1 },
      { sent: 1, failed: 1, seconds: 2 },
    ]);
    expect(two.history()).toEqual([
      { sent: 1, failed: 0, seconds: 1 },
      { sent: 0, failed: 0, seconds: 0 },
    ]);
    expect(metrics.upstreamMetrics('five', 'three').history()).toEqual([]);
  });

  it('have what it counts after its series were removed and came again', async () => {
    const metrics = await openMetrics();
    metrics.upstreamMetrics('five', 'one').succeeded(1);
    await endStep(metrics);
    removeSeries(metrics.registry, { network: 'five', upstream: 'one' });
    await endStep(metrics);
    const again = metrics.upstreamMetrics('five', 'one');
    again.succeeded(2);
    await endStep(metrics);
    expect(again.history().map(({ sent, seconds }) => [sent, seconds])).toEqual([
      [1, 1],
      [0, 0],
      [1, 2],
    ]);
  });

  it('are twenty steps', async () => {
    const metrics = await openMetrics();
    const upstream = metrics.upstreamMetrics('five', 'one');
    for (let step = 0; step < 25; step++) {
      if (step < 10) upstream.succeeded(1);
      await endStep(metrics);
    }
    expect(upstream.history()).toHaveLength(20);
    expect(upstream.history().filter(({ sent }) => sent > 0)).toHaveLength(5);
  });
});

describe('the availability of an upstream', () => {
  const at = (isUp: boolean) => [activeUpstream({ circuit: isUp ? 'closed' : 'open', isMeasured: true })];

  it('is the share of the time in which its circuit was closed, since its first use', async () => {
    const metrics = await openMetrics();
    const upstream = metrics.upstreamMetrics('five', 'one');
    await endStep(metrics);
    expect(upstream.availability()).toBeUndefined();
    for (const isUp of [true, true, false, true]) await endStep(metrics, at(isUp));
    expect(upstream.availability()).toEqual({ share: 0.75, overS: 120 });
    expect(metrics.upstreamMetrics('five', 'two').availability()).toBeUndefined();
  });

  it('is of the last 24 hours', async () => {
    const metrics = await openMetrics();
    const upstream = metrics.upstreamMetrics('five', 'one');
    await endStep(metrics, at(false), 600);
    for (let step = 0; step < 143; step++) await endStep(metrics, at(true), 600);
    expect(upstream.availability()?.share).toBeCloseTo(143 / 144, 5);
    await endStep(metrics, at(true), 600);
    expect(upstream.availability()).toEqual({ share: 1, overS: 86_400 });
  });
});
