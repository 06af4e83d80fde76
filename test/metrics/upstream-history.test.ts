import { describe, expect, it } from 'vitest';
import { removeSeries } from '../../gateway/metrics/remove-series.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';

describe('the history of an upstream', () => {
  it('has the increase of its counters in each interval', async () => {
    const metrics = new Metrics();
    const one = metrics.upstreamMetrics('five', 'one');
    const two = metrics.upstreamMetrics('five', 'two');
    one.succeeded(0.5);
    one.failed('transport', 0.25);
    one.failed('cancelled', 0.25);
    two.succeeded(1);
    await metrics.upstreamHistory.sample();
    one.succeeded(2);
    one.unusable('rate');
    await metrics.upstreamHistory.sample();
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

  it('is removed with its counters, and starts again', async () => {
    const metrics = new Metrics();
    metrics.upstreamMetrics('five', 'one').succeeded(1);
    await metrics.upstreamHistory.sample();
    await removeSeries(metrics.registry, { network: 'five', upstream: 'one' });
    await metrics.upstreamHistory.sample();
    const again = metrics.upstreamMetrics('five', 'one');
    expect(again.history()).toEqual([]);
    again.succeeded(2);
    await metrics.upstreamHistory.sample();
    expect(again.history()).toEqual([{ sent: 1, failed: 0, seconds: 2 }]);
  });

  it('has at most ten minutes', async () => {
    const metrics = new Metrics();
    const upstreamMetrics = metrics.upstreamMetrics('five', 'one');
    for (let interval = 0; interval < 65; interval++) {
      if (interval < 10) upstreamMetrics.succeeded(1);
      await metrics.upstreamHistory.sample();
    }
    expect(upstreamMetrics.history()).toHaveLength(60);
    expect(upstreamMetrics.history().filter(({ sent }) => sent > 0)).toHaveLength(5);
  });
});
