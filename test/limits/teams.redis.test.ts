import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { noLimits, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { limited, storage, type Limited } from './limited.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Sends a call with another key of the gateway. @returns the status */
async function addKey({ gateway }: Limited, permissions: Record<string, string>): Promise<() => Promise<number>> {
  const key = makeKey();
  await gateway.gateway.keys.add(digestOf(key), { name: 'other', createdAt: '2026-01-02T03:04:05.678Z', permissions });
  const [method, params] = storage;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return async () => (await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body })).status;
}

describe.each(['redis', 'memory'])('the keys of a team, counted in %s', (kind) => {
  const open = (): Promise<Limited> => limited(kind === 'redis' ? { REDIS_URL: redis.url } : {});
  const inTurn = async (...sends: (() => Promise<number>)[]): Promise<number[]> => {
    const statuses: number[] = [];
    for (const send of sends) statuses.push(await send());
    return statuses;
  };

  it.each([
    { rate: '0.001', burst: '4' },
    { daily: '4' },
    { monthly: '4' },
    { methodRates: 'eth_getStorageAt=0.001/4' },
  ])('share %j, other teams and keys have their own', async (limits) => {
    const one = await open();
    const team = `team-${kind}-${Object.keys(limits).join('-')}`;
    const first = await addKey(one, { ...limits, team });
    const second = await addKey(one, { ...limits, team });
    const otherTeam = await addKey(one, { ...limits, team: `${team}-2` });
    const noTeam = await addKey(one, limits);
    expect(await inTurn(first, second, first, second, first, second)).toEqual([200, 200, 200, 200, 429, 429]);
    expect(await inTurn(otherTeam, noTeam)).toEqual([200, 200]);
  });

  it('with different quotas are each checked with its own against what the team has used', async () => {
    const one = await open();
    const team = `different-${kind}`;
    const small = await addKey(one, { daily: '2', team });
    const large = await addKey(one, { daily: '4', team });
    expect(await inTurn(small, large, small, large, large, large)).toEqual([200, 200, 429, 200, 200, 429]);
  });

  it('without limits of its own, a key is not limited', async () => {
    const one = await open();
    const team = `unlimited-${kind}`;
    const free = await addKey(one, { team });
    const bound = await addKey(one, { daily: '1', team });
    expect(await inTurn(free, free, bound, bound, free)).toEqual([200, 200, 200, 429, 200]);
  });
});

describe('different limits of one team in Redis', () => {
  let accounts = 0;
  const open = async (): Promise<{ limiter: Limiter; limits: (own: Partial<KeyLimits>) => KeyLimits }> => {
    const settings = { REDIS_URL: redis.url, QUOTAS_WITHOUT_REDIS: 'open', LIMITS_TIMEOUT_MS: 5_000 };
    const limiter = openLimiter(settings, openLog('silent'));
    onTestFinished(() => limiter.close());
    await limiter.waitUntilReady(5_000);
    const account = `team:limits-${accounts++}`;
    return { limiter, limits: (own) => ({ ...noLimits(account), isCharged: true, ...own }) };
  };
  const unit = { units: 1, byMethod: new Map<string, number>() };

  it('hold for each charge of one round trip', async () => {
    const { limiter, limits } = await open();
    const [small, large] = [limits({ daily: 2 }), limits({ daily: 100 })];
    const order = [small, small, small, small, large, small, large];
    const outcomes = await Promise.all(order.map(async (own) => limiter.charge(own, unit)));
    expect(outcomes.map(({ shortage }) => shortage?.reason ?? 'taken')).toEqual([
      ...['taken', 'taken', 'daily-quota', 'daily-quota'],
      ...['taken', 'daily-quota', 'taken'],
    ]);
  });

  it('hold while the gateway counts another key by itself', async () => {
    const { limiter, limits } = await open();
    const [small, large] = [limits({ daily: 2 }), limits({ daily: 1_000_000 })];
    let outcome: unknown;
    // A charge that is decided at once is counted by the gateway.
    for (let round = 0; round < 1_000 && (outcome === undefined || outcome instanceof Promise); round++) {
      await Promise.all(Array.from({ length: 50 }, async () => limiter.charge(large, unit)));
      outcome = limiter.charge(large, unit);
    }
    expect(outcome).toMatchObject({ shortage: undefined });
    expect((await limiter.charge(small, unit)).shortage?.reason).toBe('daily-quota');
    expect((await limiter.charge(large, unit)).shortage).toBeUndefined();
  });
});

it('two gateways share the counts of a team', async () => {
  const gateways = [await limited({ REDIS_URL: redis.url }), await limited({ REDIS_URL: redis.url })] as const;
  for (const one of gateways) await one.setPermissions({ daily: '4', team: 'two-gateways' });
  const statuses: number[] = [];
  for (let count = 0; count < 6; count++) statuses.push((await gateways[count % 2 === 0 ? 0 : 1].send(storage)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  expect(await redis.cli('HGET', 'gatehouse:limit:team:two-gateways', 'dayUsed')).toBe('4');
});
