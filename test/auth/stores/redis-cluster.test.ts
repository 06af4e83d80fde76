import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RedisKeyStore } from '../../../gateway/auth/stores/redis-key-store.ts';
import { KeyManager } from '../../../gateway/auth/manage/manage-keys.ts';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { lastDays } from '../../../gateway/usage/usage-store.ts';
import { openUsageStore } from '../../../gateway/usage/open-usage-store.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedisCluster, startRedisWithSentinel, type RedisGroup } from '../../support/redis-cluster.ts';
import type { RedisServer } from '../../support/redis.ts';
import { openCaller, socketUrl } from '../../server/websocket/caller.ts';
import { eventually } from '../eventually.ts';
import { silent } from '../gate.ts';

const storage = { method: 'eth_getStorageAt', params: [`0x${'ab'.repeat(20)}`, '0x0', 'latest'] };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...storage });
let node: FakeNode;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
});
afterAll(() => node.close());

async function open(url: string): Promise<TestGateway> {
  // Where Redis takes longer than the gateway waits for it, a quota is not decided from memory.
  return startGateway({ test: network(7, [node.url]) }, { REDIS_URL: url, QUOTAS_WITHOUT_REDIS: 'closed' });
}

async function statusOf(gateway: TestGateway, key: string): Promise<number> {
  const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body });
  await response.arrayBuffer();
  return response.status;
}

describe('two gateways on a cluster of three Redis', () => {
  let cluster: RedisGroup;
  let gateways: TestGateway[];
  let store: RedisKeyStore;
  let manager: KeyManager;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    gateways = [await open(cluster.url), await open(cluster.url)];
    store = new RedisKeyStore(cluster.url, silent);
    manager = new KeyManager(store);
    await store.opened(5_000);
  }, 40_000);
  afterAll(async () => {
    await store.close();
    for (const gateway of gateways) await gateway.stop();
    await cluster.stop();
  });

  const statuses = (key: string): Promise<number[]> => Promise.all(gateways.map((each) => statusOf(each, key)));

  it('keep keys on all of its nodes, and list and show them all', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, (_, index) => manager.create(`key ${index}`, {})));
    const sizes = await Promise.all(cluster.nodes.map((each) => each.cli('--scan', '--pattern', 'gatehouse:key:*')));
    expect(sizes.map((text) => text.split('\n').filter((line) => line !== '').length > 0)).toEqual([true, true, true]);
    const listed = (await store.list()).map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    for (const { id, key = '' } of made.slice(0, 6)) {
      expect(await store.show(id)).toMatchObject({ id });
      expect(await statuses(key)).toEqual([200, 200]);
    }
  });

  it('end a key within a second, revoked or deleted by hand on its node', async () => {
    for (const end of ['revoke', 'DEL']) {
      const { id, key = '' } = await manager.create('to end', {});
      expect(await statuses(key)).toEqual([200, 200]);
      if (end === 'revoke') await manager.revoke(id);
      else {
        const deleted = cluster.nodes.map((each) => each.cli('DEL', `gatehouse:key:${digestOf(key)}`).catch(() => ''));
        expect(await Promise.all(deleted)).toContain('1');
      }
      await eventually(async () => (await statuses(key)).every((status) => status === 401), 1_000);
    }
  });

  it('close the WebSockets of a key within a second of its end', async () => {
    const { key = '' } = await manager.create('connected', {});
    const callers = await Promise.all(gateways.map((each) => openCaller(socketUrl(each, 'test', key))));
    await Promise.all(cluster.nodes.map((each) => each.cli('DEL', `gatehouse:key:${digestOf(key)}`).catch(() => '')));
    const since = performance.now();
    const codes = await Promise.all(callers.map(async ({ closed }) => (await closed).code));
    expect(codes).toEqual([1008, 1008]);
    expect(performance.now() - since).toBeLessThan(1_000);
  });

  it('share the limits of a key', async () => {
    const { key = '' } = await manager.create('limited', { daily: '10' });
    const sent = (await Promise.all(Array.from({ length: 15 }, () => statuses(key)))).flat();
    // On a slow machine Redis may answer too late. Such a call is 503, and may have been counted.
    await eventually(async () => {
      const again = await statuses(key);
      sent.push(...again);
      return again.every((status) => status === 429);
    }, 15_000);
    const count = (status: number): number => sent.filter((one) => one === status).length;
    expect(count(200)).toBeLessThanOrEqual(10);
    expect(count(503) > 0 || count(200) === 10).toBe(true);
    expect(count(200) + count(429) + count(503)).toBe(sent.length);
  });

  it('add up what a key did', async () => {
    const { id, key = '' } = await manager.create('counted', {});
    for (let time = 0; time < 3; time += 1) await statuses(key);
    const usage = openUsageStore({ REDIS_URL: cluster.url, DATA_DIR: '' }, silent);
    await usage.opened(2_000);
    await eventually(async () => (await usage.read(id, lastDays(1)))[0]?.calls === 6, 3_000);
    await usage.close();
  });

  it('go on while a node hangs: keys that are known are served, and the others again when it is back', async () => {
    const { key = '' } = await manager.create('steady', {});
    // Told of the new key by now, they keep what they find.
    await sleep(200);
    expect(await statuses(key)).toEqual([200, 200]);
    const [first] = cluster.nodes as [RedisServer];
    first.pause();
    try {
      for (let time = 0; time < 5; time += 1) {
        expect(await statuses(key)).toEqual([200, 200]);
        await sleep(300);
      }
    } finally {
      first.resume();
    }
    await eventually(async () => {
      const made = await manager.create('after', {}).catch(() => undefined);
      return made?.key !== undefined && (await statuses(made.key)).every((status) => status === 200);
    }, 10_000);
  });
});

describe('a gateway on a cluster of which a node hangs for good', () => {
  it('asks the one that takes its place', async () => {
    const cluster = await startRedisCluster({ hasReplica: true });
    onTestFinished(cluster.stop);
    const gateway = await open(cluster.url);
    const store = new RedisKeyStore(cluster.url, silent);
    onTestFinished(async () => {
      await store.close();
      await gateway.stop();
    });
    await store.opened(5_000);
    const [first] = cluster.nodes as [RedisServer];
    first.pause();
    const manager = new KeyManager(store);
    // Of ten keys some are its own.
    const made: string[] = [];
    await eventually(async () => {
      const { key } = await manager.create('fresh', {}).catch(() => ({ key: undefined }));
      if (key !== undefined) made.push(key);
      return made.length >= 10 && (await manager.list().catch(() => [])).length > 10;
    }, 15_000);
    await eventually(async () => {
      const statuses = await Promise.all(made.map((key) => statusOf(gateway, key)));
      return statuses.every((status) => status === 200);
    }, 10_000);
  }, 60_000);
});

describe('a gateway with a Sentinel', () => {
  let group: RedisGroup;
  let gateway: TestGateway;

  beforeAll(async () => {
    group = await startRedisWithSentinel();
    gateway = await open(group.url);
  }, 40_000);
  afterAll(async () => {
    await gateway.stop();
    await group.stop();
  });

  it('goes on while the Redis that leads is lost, and asks the one that takes its place', async () => {
    const [leader, follower] = group.nodes as [RedisServer, RedisServer];
    const { key } = gateway;
    expect(await statusOf(gateway, key)).toBe(200);
    await eventually(async () => (await follower.cli('DBSIZE')) !== '0', 2_000);
    // Told of the key by now, it keeps what it finds.
    await sleep(200);
    expect(await statusOf(gateway, key)).toBe(200);
    await leader.kill();
    const made = eventually(async () => {
      // Known keys go on throughout.
      expect(await statusOf(gateway, key)).toBe(200);
      return (await follower.cli('ROLE')).startsWith('master') && gateway.gateway.keys.available;
    }, 15_000);
    await made;
    const store = new RedisKeyStore(group.url, silent);
    await store.opened(5_000);
    const fresh = await new KeyManager(store).create('fresh', {});
    await store.close();
    expect(await statusOf(gateway, fresh.key ?? '')).toBe(200);
    expect(await follower.cli('EXISTS', `gatehouse:key:${digestOf(fresh.key ?? '')}`)).toBe('1');
    await gateway.gateway.keys.revoke(keyIdOf(digestOf(fresh.key ?? '')));
    await eventually(async () => (await statusOf(gateway, fresh.key ?? '')) === 401, 1_000);
  }, 30_000);
});
