import { expect, it } from 'vitest';
import { UpstreamLimits } from '../../gateway/upstreams/upstream-limits.ts';

it('a limit of concurrency without a rate gives a finite waiting time', () => {
  const limits = new UpstreamLimits({ concurrency: 1 });
  limits.beginRequest(0);
  expect(limits.hasCapacity(0)).toBe(false);
  expect(limits.waitMs(0)).toBeGreaterThan(0);
  expect(limits.waitMs(0)).toBeLessThan(10_000);
});

it('tokens for requests of the gateway itself are restored within the time of two bursts', () => {
  const limits = new UpstreamLimits({ perSecond: 5, burst: 5 });
  for (let count = 0; count < 500; count++) {
    limits.beginRequest(0);
    limits.endRequest();
  }
  expect(limits.waitMs(0)).toBeLessThanOrEqual(1_200);
  expect(limits.hasCapacity(2_000)).toBe(true);
});
