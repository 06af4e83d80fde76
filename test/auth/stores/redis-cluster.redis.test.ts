import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { listKeys } from '../../../gateway/auth/stores/key-store.ts';
import { KeyManager } from '../../../gateway/auth/manage/manage-keys.ts';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { lastDays } from '../../../gateway/usage/usage-store.ts';
import { openUsage } from '../../usage/open-usage.ts';
import { findRedisProblem } from '../../../gateway/redis/check-redis.ts';
import { parseRedisUrl } from '../../../gateway/redis/url.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedisCluster, startRedisWithSentinel, type RedisGroup } from '../../support/redis-cluster.ts';
import type { RedisServer } from '../../support/redis.ts';
import { endsOf, openCaller, socketUrl } from '../../server/websocket/caller.ts';
import { openKeys, type OpenKeys } from '../../support/open-keys.ts';
import { eventually, SOON_MS, staysTrueFor } from '../../support/eventually.ts';
import { noPlans } from '../../support/no-plans.ts';

const storage = { method: 'eth_getStorageAt', params: [`0x${'ab'.repeat(20)}`, '0x0', 'latest'] };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...storage });
let node: FakeNode;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
});
afterAll(() => node.close());

async function open(url: string): Promise<TestGateway> {
  // With `closed`, a Redis slower than the timeout gives 503 instead of a decision from memory.
  return startGateway({ test: network(7, [node.url]) }, { REDIS_URL: url, QUOTAS_WITHOUT_REDIS: 'closed' });
}

async function statusOf(gateway: TestGateway, key: string): Promise<number> {
  const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body });
  await response.arrayBuffer();
  return response.status;
}

/** The digests of the keys whose changes are reported to a gateway from now on. */
function reportedDigests({ gateway }: TestGateway): Set<string | undefined> {
  const digests = new Set<string | undefined>();
  gateway.keys.onChange((digest) => digests.add(digest));
  return digests;
}

describe('two gateways on a cluster of three Redis', () => {
  let cluster: RedisGroup;
  let gateways: TestGateway[];
  let store: OpenKeys;
  let manager: KeyManager;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    gateways = [await open(cluster.url), await open(cluster.url)];
    store = openKeys({ REDIS_URL: cluster.url });
    manager = new KeyManager(store, noPlans);
    await store.store.waitUntilReady(5_000);
  });
  afterAll(async () => {
    await store.close();
    for (const gateway of gateways) await gateway.stop();
    await cluster.stop();
  });

  const statuses = (key: string): Promise<number[]> => Promise.all(gateways.map((each) => statusOf(each, key)));

  it('store keys on one node, and list and show all keys', async () => {
    const created = await Promise.all(Array.from({ length: 30 }, (_, index) => manager.create(`key ${index}`, {})));
    const names = await Promise.all(cluster.nodes.map((each) => each.cli('KEYS', 'gatehouse:key*')));
    expect(names.filter((text) => text !== '')).toEqual(['gatehouse:key']);
    const listed = (await listKeys(store)).map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining(created.map(({ id }) => id)));
    for (const { id, key = '' } of created.slice(0, 6)) {
      expect(await store.show(id)).toMatchObject({ id });
      expect(await statuses(key)).toEqual([200, 200]);
    }
  });

  it('are not started with the URL of one node, or by a user without CLUSTER SLOTS', async () => {
    const [{ port }] = cluster.nodes as [RedisServer];
    const problemOf = (url: string) => findRedisProblem(parseRedisUrl(url), ['serve'], 10_000);
    expect(await problemOf(`redis://127.0.0.1:${port}`)).toMatch(/^Redis rejects a command: MOVED /);
    const rights = ['+ping', '+eval', '+hgetall', '+hget', '+pexpire', '~gatehouse:*'];
    for (const each of cluster.nodes) await each.cli('ACL', 'SETUSER', 'some', 'on', '>pass', '-@all', ...rights);
    const url = cluster.url.replace('//', '//some:pass@');
    await eventually(async () => /NOPERM .*cluster/.test((await problemOf(url)) ?? ''));
    for (const each of cluster.nodes) await each.cli('ACL', 'SETUSER', 'some', '+cluster|slots');
    expect(await problemOf(url)).toBeUndefined();
    await cluster.nodes[2]?.cli('ACL', 'SETUSER', 'some', '-pexpire');
    // A node that cannot be reached at first is no problem.
    await eventually(async () => (await problemOf(url))?.includes('pexpire') === true);
  });

  it('reject a key within a second after it is revoked, or deleted by redis-cli', async () => {
    for (const end of ['revoke', 'DEL']) {
      const { id, key = '' } = await manager.create('to end', {});
      expect(await statuses(key)).toEqual([200, 200]);
      if (end === 'revoke') await manager.revoke(id);
      else {
        const deleted = cluster.nodes.map((each) => each.cli('HDEL', 'gatehouse:key', digestOf(key)).catch(() => ''));
        expect(await Promise.all(deleted)).toContain('1');
      }
      await eventually(async () => (await statuses(key)).every((status) => status === 401), SOON_MS);
    }
  });

  it('close the WebSockets of a key after it is deleted', async () => {
    const { key = '' } = await manager.create('connected', {});
    const callers = await Promise.all(gateways.map((each) => openCaller(socketUrl(each, 'test', key))));
    await Promise.all(cluster.nodes.map((each) => each.cli('HDEL', 'gatehouse:key', digestOf(key)).catch(() => '')));
    expect((await endsOf(callers)).map(({ code }) => code)).toEqual([1008, 1008]);
  });

  it('share the limits of a key', async () => {
    const { key = '' } = await manager.create('limited', { daily: '10' });
    const sent = (await Promise.all(Array.from({ length: 15 }, () => statuses(key)))).flat();
    // On a slow machine Redis may exceed the timeout. Such a call gets 503, and may have been charged.
    await eventually(async () => {
      const again = await statuses(key);
      sent.push(...again);
      return again.every((status) => status === 429);
    });
    const count = (status: number): number => sent.filter((one) => one === status).length;
    expect(count(200)).toBeLessThanOrEqual(10);
    expect(count(503) > 0 || count(200) === 10).toBe(true);
    expect(count(200) + count(429) + count(503)).toBe(sent.length);
  });

  it('add up the usage of a key', async () => {
    const { id, key = '' } = await manager.create('counted', {});
    for (let time = 0; time < 3; time += 1) await statuses(key);
    const usage = await openUsage({ REDIS_URL: cluster.url, DATA_DIR: '' });
    await eventually(async () => (await usage.read(id, lastDays(1)))[0]?.calls === 6);
  });

  it('serve cached keys while a node hangs, and all keys after it resumes', async () => {
    // After the report of the new key, the lookup result stays cached.
    const reported = gateways.map(reportedDigests);
    const { key = '' } = await manager.create('steady', {});
    await eventually(() => reported.every((digests) => digests.has(digestOf(key))), SOON_MS);
    expect(await statuses(key)).toEqual([200, 200]);
    const [first] = cluster.nodes as [RedisServer];
    first.pause();
    try {
      await staysTrueFor(1_500, async () => (await statuses(key)).every((status) => status === 200));
    } finally {
      first.resume();
    }
    await eventually(async () => {
      const created = await manager.create('after', {}).catch(() => undefined);
      return created?.key !== undefined && (await statuses(created.key)).every((status) => status === 200);
    });
  });
});

describe('a gateway on a cluster with a node that hangs permanently', () => {
  it('uses the replica that replaces the node', async () => {
    const cluster = await startRedisCluster({ hasReplica: true });
    onTestFinished(cluster.stop);
    const gateway = await open(cluster.url);
    const store = openKeys({ REDIS_URL: cluster.url });
    onTestFinished(async () => {
      await store.close();
      await gateway.stop();
    });
    await store.store.waitUntilReady(5_000);
    const [first] = cluster.nodes as [RedisServer];
    first.pause();
    const manager = new KeyManager(store, noPlans);
    // Some of ten keys are on the node that hangs.
    const created: string[] = [];
    await eventually(async () => {
      const { key } = await manager.create('fresh', {}).catch(() => ({ key: undefined }));
      if (key !== undefined) created.push(key);
      return created.length >= 10 && (await manager.list().catch(() => [])).length > 10;
    });
    await eventually(async () => {
      const statuses = await Promise.all(created.map((key) => statusOf(gateway, key)));
      return statuses.every((status) => status === 200);
    });
  });
});

describe('a gateway with a Sentinel', () => {
  let group: RedisGroup;
  let gateway: TestGateway;

  beforeAll(async () => {
    group = await startRedisWithSentinel();
    gateway = await open(group.url);
  });
  afterAll(async () => {
    await gateway.stop();
    await group.stop();
  });

  it('serves cached keys after the primary is killed, and uses the new primary', async () => {
    const [primary, replica] = group.nodes as [RedisServer, RedisServer];
    const { key } = gateway;
    await eventually(async () => (await replica.cli('DBSIZE')) !== '0');
    // After the report of the key, the lookup result stays cached.
    await staysTrueFor(200, async () => (await statusOf(gateway, key)) === 200);
    await primary.kill();
    const failover = eventually(async () => {
      // Cached keys are served throughout.
      expect(await statusOf(gateway, key)).toBe(200);
      // The Sentinel closes the connections of the replica that it promotes.
      const role = await replica.cli('ROLE').catch(() => 'unknown');
      return role.startsWith('master') && gateway.gateway.keys.isAvailable;
    });
    await failover;
    const store = openKeys({ REDIS_URL: group.url });
    await store.store.waitUntilReady(5_000);
    const fresh = await new KeyManager(store, noPlans).create('fresh', {});
    await store.close();
    expect(await statusOf(gateway, fresh.key ?? '')).toBe(200);
    expect(await replica.cli('HEXISTS', 'gatehouse:key', digestOf(fresh.key ?? ''))).toBe('1');
    await gateway.gateway.keys.revoke(keyIdOf(digestOf(fresh.key ?? '')));
    await eventually(async () => (await statusOf(gateway, fresh.key ?? '')) === 401, SOON_MS);
  });
});
