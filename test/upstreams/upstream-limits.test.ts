import { expect, it } from 'vitest';
import { UpstreamLimits } from '../../gateway/upstreams/upstream-limits.ts';

it('without a rate, a bound of concurrency has a wait that is a number', () => {
  const limits = new UpstreamLimits({ concurrency: 1 });
  limits.beginRequest(0);
  expect(limits.hasCapacity(0)).toBe(false);
  expect(limits.waitMs(0)).toBeGreaterThan(0);
  expect(limits.waitMs(0)).toBeLessThan(10_000);
});

it('what the gateway asks for itself is paid off in the time of two bursts', () => {
  const limits = new UpstreamLimits({ perSecond: 5, burst: 5 });
  for (let own = 0; own < 500; own++) {
    limits.beginRequest(0);
    limits.endRequest();
  }
  expect(limits.waitMs(0)).toBeLessThanOrEqual(1_200);
  expect(limits.hasCapacity(2_000)).toBe(true);
});
