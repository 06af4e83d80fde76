import { afterAll, beforeAll, expect, it } from 'vitest';
import { KeyManager } from '../../../gateway/auth/manage/manage-keys.ts';
import { RevocationError } from '../../../gateway/auth/manage/key-operation-error.ts';
import { openKeys, type OpenKeys } from '../../support/open-keys.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import { noPlans } from '../../support/no-plans.ts';

const KEYS = 3_000;
const addKeys = `for i = 1, ARGV[1] do
  local digest = redis.sha1hex(i) .. string.sub(redis.sha1hex(i .. 'b'), 1, 24)
  redis.call('HSET', 'gatehouse:key', digest, '{"name":"many","createdAt":"2026-01-02T03:04:05.678Z"}')
end`;

let redis: RedisServer;
let store: OpenKeys;
beforeAll(async () => {
  redis = await startRedis();
  await redis.cli('EVAL', addKeys, '0', String(KEYS));
  store = openKeys({ REDIS_URL: redis.url });
  await store.store.waitUntilReady(10_000);
});
afterAll(async () => {
  await store.close();
  await redis.stop();
});

/** Calls of a command since the last reset. */
async function callsOf(command: string): Promise<number> {
  const stats = await redis.cli('INFO', 'commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

it('many keys are revoked with one scan, in their order, and each failure is named', async () => {
  const ids = [...(await store.entries()).values()].slice(0, 500).map(({ id }) => id);
  await redis.cli('CONFIG', 'RESETSTAT');
  const wrong = ['0123456789ab', 'ba9876543210'];
  const { revoked, failed } = await new KeyManager(store, noPlans).revokeAll([...wrong, ...ids, ...ids]);
  expect(revoked.map(({ id }) => id)).toEqual(ids);
  expect(revoked.every(({ revokedAt }) => revokedAt !== undefined)).toBe(true);
  expect(failed.map(({ id }) => id)).toEqual(wrong);
  expect(new RevocationError(failed).message.split('\n')).toEqual(
    wrong.map((id) => `There is no key with the id ${id}: see gatehouse keys list`),
  );
  // A scan of all keys takes a few commands; a scan for each id would take 500 times as many.
  expect(await callsOf('hscan')).toBeLessThan(10);
  expect(await callsOf('xadd')).toBe(500);
});
