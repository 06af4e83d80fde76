import { beforeAll, expect, it, onTestFinished } from 'vitest';
import fc from 'fast-check';
import { clock } from '../../gateway/clock/clock.ts';
import { noLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { newLimitState, shortageOf, take, type UtcDate } from '../../gateway/limits/limit-state.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { silent } from '../auth/auth-setup.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { installSystemClock } from '../support/elastic-clock.ts';
import { startRedis } from '../support/redis.ts';

// What passes is compared with the time of Redis.
beforeAll(installSystemClock);

const date: UtcDate = {
  ...{ day: '2026-01-30', month: '2026-01', nextDay: '2026-01-31', nextMonth: '2026-02' },
  ...{ dayEndsInS: 1, monthEndsInS: 1 },
};
const byMethod = new Map<string, number>();
const isWithout = (shortage: unknown): boolean => shortage === undefined;

it('a key that always has a call waiting gets exactly its rate, whatever its calls cost', () => {
  const cost = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(0.1, 7.5, 100));
  fc.assert(
    fc.property(fc.array(cost, { minLength: 5, maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (costs, burst) => {
      const limits = { ...noLimits('a'), isCharged: true, rate: { perSecond: 10, burst } };
      const state = newLimitState();
      let [now, sum] = [0, 0];
      for (const units of costs) {
        // It waits as long as it is told to, and no longer.
        const wait = shortageOf(state, limits, { units, byMethod }, { now, date })?.waitS ?? 0;
        now += wait * 1_000;
        expect(isWithout(shortageOf(state, limits, { units, byMethod }, { now, date }))).toBe(true);
        take(state, limits, { units, byMethod }, { now, date });
        sum += units;
        // Only the last charge can be above what has returned.
        expect(sum - units).toBeLessThanOrEqual(burst + now / 100 + 1e-6);
      }
      // `Retry-After` is a whole number of seconds: each wait is up to 10 units too long.
      expect(sum).toBeGreaterThanOrEqual(Math.min(burst, sum) + (now / 1_000 - costs.length) * 10 - 1e-6 - burst);
    }),
  );
});

it.each(['memory', 'redis'])('in %s, charges above the burst do not exceed the rate', async (kind) => {
  const redis = kind === 'redis' ? await startRedis() : undefined;
  const limiter = openLimiter(
    readSettings({ ...(redis && { REDIS_URL: redis.url }), LIMITS_TIMEOUT_MS: '5000' }),
    silent,
  );
  onTestFinished(async () => {
    await limiter.close();
    await redis?.stop();
  });
  await limiter.waitUntilReady(5_000);
  const limits = { ...noLimits('a'), isCharged: true, rate: { perSecond: 2_000, burst: 10 } };
  const startedAt = clock.now();
  let sum = 0;
  const chargeUnits = 300;
  while (clock.now() - startedAt < 2_000) {
    const { shortage } = await limiter.charge(limits, { units: chargeUnits, byMethod });
    if (isWithout(shortage)) sum += chargeUnits;
    await scenarioPause(1);
  }
  const elapsedS = (clock.now() - startedAt) / 1_000;
  expect(sum).toBeGreaterThan(chargeUnits);
  expect(sum - chargeUnits).toBeLessThanOrEqual(10 + 2_000 * elapsedS);
});
