import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { installSystemClock } from '../support/elastic-clock.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { openKeys } from '../support/open-keys.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';

/** The time of the product: the elastic one hides what these tests show. */
beforeAll(installSystemClock);

interface Servers {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  readonly stop: () => Promise<void>;
}

const kinds: [kind: string, start: () => Promise<Servers>][] = [
  [
    'one server',
    async () => {
      const server = await startRedis();
      return { url: server.url, nodes: [server], stop: () => server.stop() };
    },
  ],
  ['a cluster', () => startRedisCluster()],
];

describe.each(kinds)('Redis as %s', (_kind, start) => {
  async function openStore() {
    const servers = await start();
    const store = openKeys({ REDIS_URL: servers.url });
    onTestFinished(async () => {
      for (const node of servers.nodes) node.resume();
      await store.close();
      await servers.stop();
    });
    await store.store.waitUntilReady(60_000);
    return { nodes: servers.nodes, store };
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
    const { nodes, store } = await openStore();
    for (const node of nodes) node.pause();
    await expect(store.find(digestOf(makeKey()))).rejects.toThrow('Redis is unreachable (ETIMEDOUT)');
    expect(store.isAvailable).toBe(false);
  });
});
