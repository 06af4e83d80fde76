import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { noLimits, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { silent } from '../auth/auth-setup.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { installSystemClock } from '../support/elastic-clock.ts';

// What passes is compared with the time of Redis.
beforeAll(installSystemClock);

const GATEWAYS = 3;

interface Gateways {
  readonly redis: RedisServer;
  /** The connection of the first one. */
  readonly proxy: TcpProxy;
  readonly limiters: readonly Limiter[];
}

async function openGateways(): Promise<Gateways> {
  const redis = await startRedis();
  const proxy = await startTcpProxy(redis.port);
  const urls = Array.from({ length: GATEWAYS }, (_, index) =>
    index === 0 ? `redis://127.0.0.1:${proxy.port}` : redis.url,
  );
  const limiters = urls.map((url) => openLimiter(readSettings({ REDIS_URL: url, LIMITS_TIMEOUT_MS: '5000' }), silent));
  onTestFinished(async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await proxy.close();
    await redis.stop();
  });
  await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
  return { redis, proxy, limiters };
}

/** Sends charges of one unit to gateways at once, `perTurn` to each every 5 ms, until `isOver`. */
async function flood(
  limiters: () => readonly Limiter[],
  limits: KeyLimits,
  perTurn: (turn: number) => number,
  isOver: () => boolean,
  onTaken: (sentAt: number, at: number, limiter: Limiter) => void,
): Promise<void> {
  const charges: Promise<void>[] = [];
  const charge = async (limiter: Limiter): Promise<void> => {
    const sentAt = clock.now();
    const { shortage } = await limiter.charge(limits, { units: 1, byMethod: new Map() });
    if (shortage === undefined) onTaken(sentAt, clock.now(), limiter);
  };
  for (let turn = 0; !isOver(); turn++) {
    for (const limiter of limiters()) for (let count = 0; count < perTurn(turn); count++) charges.push(charge(limiter));
    await scenarioPause(5);
  }
  await Promise.all(charges);
}

it('three gateways at ten times the rate serve at most burst + rate × time, and 100 ms of the rate per other one', async () => {
  const { redis, limiters } = await openGateways();
  const rate = { perSecond: 200, burst: 200 };
  const limits = { ...noLimits('a'), isCharged: true, rate, daily: 1e9 };
  const passed: { readonly sentAt: number; readonly at: number }[] = [];
  // Half of the rate, then more than ten times the rate: 12 each 5 ms.
  const perTurn = (turn: number): number => (turn < 200 ? Number(turn % 6 === 0) : 4);
  const startedAt = clock.now();
  await flood(
    () => limiters,
    limits,
    perTurn,
    () => clock.now() - startedAt >= 4_000,
    (sentAt, at) => passed.push({ sentAt, at }),
  );
  expect(limiters.map(({ counts }) => counts['without-redis'])).toEqual([0, 0, 0]);
  expect(Math.min(...limiters.map(({ counts }) => counts.memory))).toBeGreaterThan(0);

  passed.sort((a, b) => a.at - b.at);
  let maxExcess = -Infinity;
  for (const { sentAt: from } of passed) {
    let sum = 0;
    for (const { sentAt, at } of passed) {
      if (sentAt < from) continue;
      sum++;
      maxExcess = Math.max(maxExcess, sum - rate.burst - ((at - from) * rate.perSecond) / 1_000);
    }
  }
  // One charge may be above what has returned; 2 units are 10 ms, the difference of the clocks.
  expect(maxExcess).toBeLessThanOrEqual((GATEWAYS - 1) * rate.perSecond * 0.1 + 1 + 2);
  // A busy machine sends less: at least the burst passes.
  expect(passed.length).toBeGreaterThanOrEqual(rate.burst);
  // What each has counted by itself is in Redis.
  await eventually(async () => Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')) === passed.length);
});

it('of a daily quota of 300, 300 to 305 are charged, also if a gateway is killed under load', async () => {
  const { redis, proxy, limiters } = await openGateways();
  const limits = { ...noLimits('a'), isCharged: true, daily: 300 };
  let [served, isKilled] = [0, false];
  const alive = (): readonly Limiter[] => (isKilled ? limiters.slice(1) : limiters);
  await flood(
    alive,
    limits,
    () => 1,
    () => isKilled && limiters[1]?.shortageOf(limits) !== undefined,
    (_sentAt, _at, limiter) => {
      // What it decides then, no caller gets.
      if (isKilled && limiter === limiters[0]) return;
      served++;
      if (served !== 120) return;
      // What it has counted and not exchanged is lost.
      isKilled = true;
      void proxy.cut();
    },
  );
  const charged = Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed'));
  expect(charged).toBeGreaterThanOrEqual(300);
  expect(charged).toBeLessThanOrEqual(305);
  // The killed one had some of its calls in flight.
  expect(served).toBeGreaterThanOrEqual(295);
});
