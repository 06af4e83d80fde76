import { expect, it, onTestFinished } from 'vitest';
import { pino } from 'pino';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { RedisKeyStore } from '../../gateway/auth/stores/redis-key-store.ts';
import { startRedis } from '../support/redis.ts';

async function openStore() {
  const redis = await startRedis();
  const store = new RedisKeyStore(redis.url, pino({ enabled: false }));
  onTestFinished(async () => {
    redis.resume();
    await store.close();
    await redis.stop();
  });
  await store.waitUntilReady(60_000);
  return { redis, store };
}

it('a response of Redis counts that arrives while the process gets no CPU', async () => {
  const { store } = await openStore();
  for (let times = 0; times < 3; times++) {
    const found = store.find(digestOf(makeKey()));
    // Longer than the time limit of a command, as if other processes had the CPU.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    expect(await found).toBeUndefined();
    expect(store.isAvailable).toBe(true);
  }
});

it('a Redis that does not respond is unavailable', async () => {
  const { redis, store } = await openStore();
  redis.pause();
  await expect(store.find(digestOf(makeKey()))).rejects.toThrow('Redis is unreachable (ETIMEDOUT)');
  expect(store.isAvailable).toBe(false);
});
