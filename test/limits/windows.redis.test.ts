import { afterAll, beforeAll, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { noLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { silent } from '../auth/auth-setup.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { installSystemClock } from '../support/elastic-clock.ts';

// What passes is compared with the time of Redis.
beforeAll(installSystemClock);

const rate = { perSecond: 20_000, burst: 4_000 };
/** Difference of the clocks. A lease that is used too late would add 50 ms. */
const toleranceMs = 10;

let redis: RedisServer;
let limiters: Limiter[];
beforeAll(async () => {
  redis = await startRedis();
  limiters = [0, 1].map(() => openLimiter(readSettings({ REDIS_URL: redis.url, LIMITS_TIMEOUT_MS: '5000' }), silent));
  await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
});
afterAll(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
  await redis.stop();
});

it('at most burst + rate × time passes in any window, with leases and sudden floods', async () => {
  const limits = { ...noLimits('a'), isCharged: true, rate, daily: 1e9 };
  /** Each was decided between the two times. */
  const passed: { sentAt: number; at: number; units: number }[] = [];
  const charge = async (limiter: Limiter, units: number): Promise<void> => {
    const sentAt = clock.now();
    const { shortage } = await limiter.charge(limits, { units, byMethod: new Map() });
    if (shortage === undefined) passed.push({ sentAt, at: clock.now(), units });
  };
  const charges: Promise<void>[] = [];
  const startedAt = clock.now();
  /** 4 s, and on a slow machine until leases have been used often enough. */
  const isEnough = (): boolean => {
    const elapsedMs = clock.now() - startedAt;
    return elapsedMs > 4_000 && ((limiters[0]?.counts.leased ?? 0) > 200 || elapsedMs > 30_000);
  };
  await Promise.all(
    limiters.map(async (limiter, index) => {
      for (let turn = 0; !isEnough(); turn++) {
        // Steady calls within the limit, so that leases are granted; then a flood above the limit.
        const isFlood = turn % 100 > 90;
        for (let count = 0; count < (isFlood ? 60 : 2); count++)
          charges.push(charge(limiter, 12 + ((count + index) % 2)));
        await scenarioPause(4);
      }
    }),
  );
  await Promise.all(charges);
  expect(limiters[0]?.counts.leased).toBeGreaterThan(200);
  expect(limiters[0]?.counts['without-redis']).toBe(0);

  passed.sort((a, b) => a.at - b.at);
  let maxExcess = -Infinity;
  for (const { sentAt: from } of passed) {
    let sum = 0;
    for (const { sentAt, at, units } of passed) {
      if (sentAt < from) continue;
      sum += units;
      maxExcess = Math.max(maxExcess, sum - rate.burst - ((at - from) * rate.perSecond) / 1_000);
    }
  }
  expect(maxExcess).toBeLessThan((rate.perSecond * toleranceMs) / 1_000);
  // Unused leased units were returned.
  const used = passed.reduce((sum, { units }) => sum + units, 0);
  await eventually(async () => Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')) === used);
});
