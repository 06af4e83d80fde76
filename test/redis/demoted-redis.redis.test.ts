import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { openKeys } from '../support/open-keys.ts';
import { putKeyByHand } from '../support/redis-keys.ts';
import { openLog } from '../../gateway/config/log.ts';
import { openStore } from '../../gateway/store/open-store.ts';
import { UsageStore } from '../../gateway/usage/usage-store.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually, SOON_MS } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis, type RedisServer, type RedisStart } from '../support/redis.ts';

// A failover by address: a service, a DNS name or a proxy leads to the new primary, and the former one keeps its connections.

async function start(options?: RedisStart): Promise<RedisServer> {
  const redis = await startRedis(options);
  onTestFinished(redis.stop);
  return redis;
}

/** Starts an address that leads new connections to a server, and does not end those to a previous one. */
async function startAddress(first: RedisServer): Promise<{ url: string; leadTo: (next: RedisServer) => void }> {
  let { port } = first;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => other.destroy());
      socket.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (next) => ({ port } = next),
  };
}

/** The primary becomes the replica of its own replica. */
async function demote(primary: RedisServer, replica: RedisServer): Promise<void> {
  const isReplicated = async (one: RedisServer): Promise<boolean> =>
    (await one.cli('INFO', 'replication')).includes('master_link_status:up');
  await eventually(() => isReplicated(replica));
  await primary.cli('WAIT', '1', '1000');
  await replica.cli('REPLICAOF', 'NO', 'ONE');
  await primary.cli('REPLICAOF', '127.0.0.1', String(replica.port));
  await eventually(() => isReplicated(primary));
}

/** Connections of programs, without those of redis-cli and of replication. */
async function connectionsTo(redis: RedisServer): Promise<number> {
  const clients = (await redis.cli('CLIENT', 'LIST')).split('\n');
  return clients.filter((line) => !/ flags=[MS]| cmd=client/.test(line)).length;
}

async function serve(env: Record<string, string>, lines: string[] = []): Promise<TestGateway> {
  const node = await startFakeNode({ chainId: 7, responses: { eth_gasPrice: '0x1' } });
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  const gateway = await startGateway({ test: network(7, [node.url]) }, env, log);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return gateway;
}

const storeUp = async ({ address }: TestGateway): Promise<number | undefined> =>
  (await readMetrics(address)).value('gatehouse_key_store_up');

const cachedLookups = async ({ address }: TestGateway): Promise<number> =>
  (await readMetrics(address)).value('gatehouse_key_lookups_total', { outcome: 'hit' }) ?? 0;

it('a gateway follows its address from a demoted primary to the new one', async () => {
  const primary = await start();
  const replica = await start({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] });
  const address = await startAddress(primary);
  const lines: string[] = [];
  const gateway = await serve({ REDIS_URL: address.url, CACHE_REDIS_URL: `${address.url}/1` }, lines);
  const digest = digestOf(gateway.key);
  const id = keyIdOf(digest);
  await gateway.gateway.keys.update(id, { rate: '1000', daily: '100000' });
  const status = async (): Promise<number> =>
    (await gateway.post('test', '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}')).status;
  const used = async (redis: RedisServer): Promise<number> =>
    Number(await redis.cli('HGET', `gatehouse:limit:${id}`, 'dayUsed'));
  await eventually(async () => (await status()) === 200 && (await used(primary)) > 0);
  // In memory, the key is valid without Redis. It is not if a lookup ran while Redis reported the change above.
  await eventually(async () => (await status()) === 200 && (await cachedLookups(gateway)) > 0);

  const isAllInUsage = async (redis: RedisServer): Promise<boolean> => {
    const store = openStore({ REDIS_URL: redis.url, DATA_DIR: '' }, openLog('silent'));
    await store.waitUntilReady(SOON_MS);
    const rows = await new UsageStore(store, openLog('silent')).read(id, [new Date().toISOString().slice(0, 10)]);
    await store.close();
    return (rows.find(({ method }) => method === 'eth_gasPrice')?.calls ?? 0) >= (await used(redis));
  };
  // What Redis has accepted and not replicated is lost in a failover.
  await eventually(() => isAllInUsage(primary));
  await demote(primary, replica);
  await eventually(async () => (await storeUp(gateway)) === 0);
  // Its limits are counted in memory meanwhile.
  expect(await status()).toBe(200);
  expect(lines.filter((line) => line.includes('READONLY')).length).toBeGreaterThan(0);

  address.leadTo(replica);
  await eventually(async () => (await storeUp(gateway)) === 1);
  await eventually(async () => (await connectionsTo(primary)) === 0);
  const counted = await used(replica);
  await eventually(async () => (await status()) === 200 && (await used(replica)) > counted);
  // With the calls that were served while no primary could be reached.
  await eventually(() => isAllInUsage(replica));
  await putKeyByHand(replica, gateway.key, { name: 'test', revokedAt: new Date().toISOString() });
  await eventually(async () => (await status()) === 401, SOON_MS);
});

it('a gateway follows its address from a Redis that loads its data', async () => {
  const data = mkdtempSync(join(tmpdir(), 'gatehouse-loading-'));
  onTestFinished(() => {
    rmSync(data, { recursive: true });
  });
  const former = await start({ args: ['--dir', data, '--rdbcompression', 'no'] });
  await former.cli('EVAL', "for i = 1, 20000 do redis.call('SET', i, string.rep('x', 100)) end", '0');
  await former.cli('SAVE');
  await former.kill();
  // Loading takes some minutes, and other commands get LOADING meanwhile.
  const delays = ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'];
  const loading = await start({ args: ['--dir', data, ...delays], ready: 'Server initialized' });
  const primary = await start();
  const address = await startAddress(loading);
  const gateway = await serve({ REDIS_URL: address.url });
  await eventually(async () => (await connectionsTo(loading).catch(() => 0)) > 0);
  expect(await storeUp(gateway)).toBe(0);
  address.leadTo(primary);
  await eventually(async () => (await storeUp(gateway)) === 1);
});

it('commands that read may read from a replica', async () => {
  const primary = await start();
  const replica = await start({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] });
  const digest = 'a'.repeat(64);
  await primary.cli('HSET', 'gatehouse:key', digest, '{"name":"alice"}');
  const store = openKeys({ REDIS_URL: replica.url }, openLog('silent'), true);
  onTestFinished(() => store.close());
  await store.store.waitUntilReady(SOON_MS);
  await eventually(async () => (await store.find(digest))?.name === 'alice');
  await expect(store.add('b'.repeat(64), { name: 'bob', createdAt: '' })).rejects.toThrow('READONLY');
});
