import { deleteKeyByHand, putKeyByHand } from '../support/redis-keys.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { eventually, SOON_MS } from '../support/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { CommandFolder, type Served } from '../support/command-folder.ts';

interface Made {
  readonly id: string;
  readonly key: string;
}

let node: FakeNode;
let redis: RedisServer;
/** A proxy between the second gateway and Redis, to cut the connection while Redis is up. */
let wire: TcpProxy;
let place: CommandFolder;
let gateway: Served;
let remote: Served;
let redisPort: number;
const redisUrl = (port = redisPort): Record<string, string> => ({ REDIS_URL: `redis://127.0.0.1:${port}/0` });

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getStorageAt: `0x${'07'.padStart(64, '0')}` } });
  place = new CommandFolder().withNetworks({ fake: network(10, [node.url]) });
  redisPort = await freePort();
  wire = await startTcpProxy(redisPort);
  [gateway, remote] = await Promise.all([place.serve(redisUrl()), place.serve(redisUrl(wire.port))]);
}, 120_000);
afterAll(async () => {
  await place.close();
  await wire.close();
  await node.close();
  await redis.stop();
});

// Each test continues from the state of the previous one.
describe('a gateway with Redis', () => {
  it('starts before Redis, and rejects keys that it cannot check', async () => {
    expect(gateway.gateway.keys.location).toBe('in Redis (REDIS_URL)');
    expect(await readiness(gateway)).toMatchObject({
      status: 503,
      body: { ready: false, keyStore: { kind: 'redis', available: false } },
    });
    expect(await call(gateway, makeKey())).toEqual({ status: 503, code: -32603 });
    expect(await call(gateway, 'not-a-key')).toEqual({ status: 401, code: -32002 });
    expect(await call(gateway, '')).toEqual({ status: 401, code: -32002 });
    expect((await fetch(`${gateway.address}/livez`)).status).toBe(200);
  });

  it('reports on the command line, in one line, that Redis is unavailable', async () => {
    const { code, stdout, stderr } = await place.run(['keys', 'create', '--name', 'alice'], redisUrl());
    expect([code, stdout, stderr]).toEqual([78, '', 'Redis is unreachable (ECONNREFUSED): check REDIS_URL\n']);
  });

  it('recovers when Redis becomes available', async () => {
    redis = await startRedis({ port: redisPort });
    await eventually(async () => (await readiness(gateway)).status === 200);
    await eventually(async () => (await readiness(remote)).status === 200);
    // On a busy machine, a response of Redis may be late.
    await expect.poll(() => call(gateway, makeKey())).toEqual({ status: 401, code: -32002 });
  });

  it('accepts a key as soon as the command line has created it', async () => {
    const { key } = await make('alice');
    await used(key);
    // Redis has the digest of the key only.
    const stored = await redis.cli('HGETALL', 'gatehouse:key');
    expect(stored).toContain('"name":"alice"');
    expect(stored).not.toContain(key);
  });

  it('rejects a key within a second after a manual HDEL and PUBLISH', async () => {
    const { key } = await add('bob');
    await used(key);
    expect(await deleteKeyByHand(redis, key)).toBe('1');
    await rejectedSoon(key, gateway, remote);
  });

  it('rejects a key within a second after its revocation on the command line', async () => {
    const { id, key } = await add('carol');
    await used(key);
    expect(await place.run(['keys', 'revoke', id], redisUrl())).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: `Key ${id} (carol) is revoked.\n`,
    });
    await rejectedSoon(key, gateway, remote);
  });

  it('rejects all keys within a second after FLUSHALL and PUBLISH', async () => {
    const keys = (await Promise.all(['dave', 'erin'].map(add))).map(({ key }) => key);
    for (const key of keys) await used(key);
    await redis.cli('FLUSHALL');
    await redis.cli('PUBLISH', 'gatehouse:key', 'all');
    for (const key of keys) await rejectedSoon(key, gateway, remote);
  });

  it('accepts keys in its memory while Redis is unreachable', async () => {
    const { key } = await add('frank');
    await used(key);
    redis.pause();
    await eventually(async () => !(await keyStoreOf(gateway)));
    expect(await call(gateway, key)).toEqual({ status: 200 });
    expect(await call(gateway, makeKey())).toEqual({ status: 503, code: -32603 });
    expect((await readiness(gateway)).status).toBe(200);
    redis.resume();
    for (const one of [gateway, remote]) await eventually(() => isConnected(one));
    expect(await call(gateway, key)).toEqual({ status: 200 });
  });

  it('rejects a key revoked during the disconnection within a second after reconnecting', async () => {
    const [{ id, key }, other] = await Promise.all([add('grace'), add('heidi')]);
    for (const made of [key, other.key]) await used(made);
    await wire.cut();
    await eventually(async () => !(await keyStoreOf(remote)));
    expect((await place.run(['keys', 'revoke', id], redisUrl())).code).toBe(0);
    await rejectedSoon(key, gateway);
    expect(await call(remote, key)).toEqual({ status: 200 });
    await wire.restore();
    await eventually(async () => await keyStoreOf(remote));
    await rejectedSoon(key, remote);
    expect(await call(remote, other.key)).toEqual({ status: 200 });
  });

  it('accepts keys in its memory after Redis is killed, and checks them again when Redis is back', async () => {
    const [{ key: cached }, { key: lost }] = await Promise.all([add('ivan'), add('judy')]);
    for (const key of [cached, lost]) await used(key);
    await redis.kill();
    await eventually(async () => !(await keyStoreOf(gateway)));
    for (const key of [cached, lost]) expect(await call(gateway, key)).toEqual({ status: 200 });
    await redis.restart(); // empty, as if one of the keys had been deleted meanwhile
    await putKeyByHand(redis, cached, { name: 'ivan' });
    for (const one of [gateway, remote]) await eventually(() => isConnected(one));
    await rejectedSoon(lost, gateway);
    expect(await call(gateway, cached)).toEqual({ status: 200 });
  });

  it('stops while Redis is unavailable, and has logged no key', async () => {
    const seen = (await add('kim')).key;
    await used(seen);
    await redis.kill();
    await Promise.all([gateway.stop(), remote.stop()]);
    for (const one of [gateway, remote]) expect(one.log()).not.toMatch(/gh_\w{32}/);
  });
});

/** Creates a key on the command line, as an operator does. */
async function make(name: string): Promise<Made> {
  const { stdout, stderr } = await place.run(['keys', 'create', '--name', name, '--json'], redisUrl());
  expect(stderr).toBe('warning: the key has no rate limit; in production, set --rate\n');
  return JSON.parse(stdout) as Made;
}

async function add(name: string): Promise<Made> {
  const key = await place.addKey({ name, redisUrl: redis.url });
  return { id: keyIdOf(digestOf(key)), key };
}

/** Both gateways have accepted the key, and so have it in memory. */
async function used(key: string): Promise<void> {
  for (const one of [gateway, remote]) expect(await call(one, key)).toEqual({ status: 200 });
}

async function rejectedSoon(key: string, ...gateways: Served[]): Promise<void> {
  await Promise.all(gateways.map((one) => eventually(async () => (await call(one, key)).status === 401, SOON_MS)));
}

async function call(to: Served, key: string): Promise<{ status: number; code?: number }> {
  const params = [`0x${'ab'.repeat(20)}`, '0x0', 'latest'];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
  const response = await fetch(`${to.address}/fake/v3/${key}`, { method: 'POST', body });
  const { error } = (await response.json()) as { error?: { code: number } };
  return { status: response.status, ...(error !== undefined && { code: error.code }) };
}

async function readiness(of: Served): Promise<{ status: number; body: { keyStore: { available: boolean } } }> {
  const response = await fetch(`${of.address}/readyz`);
  return { status: response.status, body: (await response.json()) as { keyStore: { available: boolean } } };
}

/** Both connections for keys are up by the log, and keys were checked again. Before that, a key that is used may be forgotten. */
function isConnected(of: Served): boolean {
  return ['store', 'changes'].every((connection) => {
    const last = of
      .log()
      .split('\n')
      .findLast((line) => line.includes(`"connection":"${connection}"`));
    return last?.includes('Redis is available') === true;
  });
}

async function keyStoreOf(of: Served): Promise<boolean> {
  return (await readiness(of)).body.keyStore.available;
}
