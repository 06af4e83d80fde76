import { describe, expect, it } from 'vitest';
import { Metrics } from '../../gateway/metrics/metrics.ts';

describe('the calls of a network in the last minute', () => {
  it('have a rate, quantiles of their duration, and a share of cache hits', () => {
    const metrics = new Metrics();
    const { networkHistory: history } = metrics;
    const seconds = metrics.calls.seconds.labels('five', 'eth_call');
    const lookup = metrics.cache.lookups('five', 'eth_call');
    seconds.observe(20);
    lookup('miss');
    history.sample(0);
    expect(history.activityOf('five')).toBeUndefined();
    // Only what came since the first sample counts.
    for (let call = 0; call < 98; call++) seconds.observe(0.02);
    metrics.calls.seconds.labels('five', 'eth_getLogs').observe(0.4);
    seconds.observe(100);
    for (const outcome of ['hit', 'redis', 'hit', 'miss'] as const) lookup(outcome);
    history.sample(10_000);
    const activity = history.activityOf('five');
    expect(activity).toMatchObject({ perSecond: 10, cacheHitRate: 0.75 });
    // In the bucket from 10 to 25 ms, and at the upper end of the one from 250 to 500 ms.
    expect(activity?.p50Ms).toBeCloseTo(10 + 15 * (50 / 98), 5);
    expect(activity?.p99Ms).toBeCloseTo(500, 5);
    expect(history.activityOf('six')).toEqual({
      perSecond: 0,
      p50Ms: undefined,
      p99Ms: undefined,
      cacheHitRate: undefined,
    });
  });

  it('are those of six intervals, and the highest bound for longer calls', () => {
    const metrics = new Metrics();
    const { networkHistory: history } = metrics;
    const seconds = metrics.calls.seconds.labels('five', 'eth_call');
    for (let sample = 0; sample <= 8; sample++) {
      history.sample(sample * 10_000);
      seconds.observe(100);
    }
    // The last call is later than the last sample.
    expect(history.activityOf('five')).toMatchObject({ perSecond: 0.1, p50Ms: 30_000, p99Ms: 30_000 });
  });
});

describe('the availability of an upstream', () => {
  const at = (isUp: boolean, isMeasured = true) =>
    [
      {
        network: 'five',
        upstream: 'one',
        circuit: isUp ? 'closed' : 'open',
        isMeasured,
        drainedS: undefined,
        concurrencyLimit: 256,
        isWithoutBatches: false,
      },
    ] as const;

  it('is the share of samples at which it worked, since its first use', async () => {
    const { upstreamHistory: history } = new Metrics();
    await history.sample(at(true, false));
    expect(history.availabilityOf('five', 'one')).toBeUndefined();
    for (const isUp of [true, true, false, true]) await history.sample(at(isUp));
    expect(history.availabilityOf('five', 'one')).toEqual({ share: 0.75, overS: 40 });
    await history.sample([]);
    expect(history.availabilityOf('five', 'one')).toBeUndefined();
  });

  it('is of the last 24 hours', async () => {
    const { upstreamHistory: history } = new Metrics();
    for (let sample = 0; sample < 90; sample++) await history.sample(at(false));
    for (let sample = 0; sample < 8_640; sample++) await history.sample(at(true));
    expect(history.availabilityOf('five', 'one')).toEqual({ share: 1, overS: 86_400 });
  });
});
