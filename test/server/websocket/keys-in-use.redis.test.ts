import { deleteKeyByHand, putKeyByHand } from '../../support/redis-keys.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { digestOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, reportOf, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import { endsOf, openCaller, socketUrl, type Caller } from './caller.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

const account = '0x1212121212121212121212121212121212121212';
let node: FakeNode;
let redis: RedisServer;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
});
afterEach(async () => {
  await gateway.stop();
  await redis.stop();
});
afterAll(() => node.close());

async function start(env: Record<string, string> = {}, args: readonly string[] = []): Promise<void> {
  redis = await startRedis({ args });
  gateway = await startGateway({ main: network(5, [node.url]) }, { REDIS_URL: redis.url, ...env });
}

async function openWithNewKey(): Promise<{ key: string; caller: Caller }> {
  const key = makeKey();
  const reported = reportOf(gateway.gateway.keys, key);
  await putKeyByHand(redis, key, { name: 'alice' });
  // A report after the first lookup would make the gateway forget the key.
  await reported;
  const caller = await openCaller(socketUrl(gateway, 'main', key));
  expect(await caller.call('net_version')).toMatchObject({ result: '5' });
  return { key, caller };
}

const revoked = { code: 1008, reason: 'invalid project id' };

describe('the sockets of a key', () => {
  it('are closed with 1008 after HDEL and PUBLISH in Redis, and no others', async () => {
    await start();
    const { key, caller } = await openWithNewKey();
    const second = await openCaller(socketUrl(gateway, 'main', key));
    const other = await openWithNewKey();
    await deleteKeyByHand(redis, key);
    expect(await endsOf([caller, second])).toEqual([revoked, revoked]);
    expect(await other.caller.call('net_version')).toMatchObject({ result: '5' });
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_websockets_closed_total', { reason: 'key-invalid' })).toBe(2);
    expect(value('gatehouse_websockets_open')).toBe(1);
    await expect(openCaller(socketUrl(gateway, 'main', key))).rejects.toThrow('401');
  });

  it('are closed when it is revoked, with calls in progress; waiting calls are not started', async () => {
    await start({ socketMessagesMax: '1' });
    const { key, caller } = await openWithNewKey();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    const call = `{"jsonrpc":"2.0","id":2,"method":"eth_getStorageAt","params":["${account}","0x0","latest"]}`;
    caller.send(call, call, call);
    await eventually(() => held.length === 1);
    await putKeyByHand(redis, key, { name: 'alice', revokedAt: new Date().toISOString() });
    expect(await endsOf([caller])).toEqual([revoked]);
    expect(caller.unread).toEqual([]);
    for (const exchange of held) asUsual(exchange);
    await staysTrueFor(500, () => node.callsOf('eth_getStorageAt').length === 1);
  });

  it('are closed after FLUSHALL and PUBLISH', async () => {
    await start();
    const callers = [(await openWithNewKey()).caller, (await openWithNewKey()).caller];
    await redis.cli('FLUSHALL');
    await redis.cli('PUBLISH', 'gatehouse:key', 'all');
    expect(await endsOf(callers)).toEqual([revoked, revoked]);
  });

  it('are closed within about a second if Redis reports no changes', async () => {
    await start();
    // Without the connection that reports changes, keys must be looked up again.
    await redis.cli('ACL', 'SETUSER', 'default', '-subscribe');
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const opening: Promise<{ key: string; caller: Caller }>[] = [];
    // At different moments of the second for which a lookup is valid.
    for (let count = 0; count < 13; count++) {
      opening.push(openWithNewKey());
      await scenarioPause(107);
    }
    const held = await Promise.all(opening);
    await redis.cli('HDEL', 'gatehouse:key', ...held.map(({ key }) => digestOf(key)));
    expect(await endsOf(held.map(({ caller }) => caller))).toEqual(held.map(() => revoked));
  });

  it('stay open while Redis is unavailable, and are confirmed when it is back', async () => {
    // Only data from before the SAVE exists after the restart.
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
    await start({}, ['--dir', folder]);
    const cached = await openWithNewKey();
    await redis.cli('SAVE');
    const lost = await openWithNewKey();
    await redis.kill();
    await eventually(async () => (await readMetrics(gateway.address)).value('gatehouse_key_store_up') === 0);
    const all = [cached.caller.socket, lost.caller.socket];
    await staysTrueFor(1_000, () => all.every(({ readyState }) => readyState === WebSocket.OPEN));
    for (const { caller } of [cached, lost]) expect(await caller.call('net_version')).toMatchObject({ result: '5' });
    await redis.restart();
    rmSync(folder, { recursive: true });
    // The gateway detects the return within one second, and confirms keys within another.
    expect(await lost.caller.closed).toEqual(revoked);
    await staysTrueFor(500, () => cached.caller.socket.readyState === WebSocket.OPEN);
    expect(await cached.caller.call('net_version')).toMatchObject({ result: '5' });
  });

  it('are closed with 1013 when Redis has been unavailable for KEY_STALE_MAX_S', async () => {
    await start({ KEY_STALE_MAX_S: '4' });
    const { caller } = await openWithNewKey();
    await redis.kill();
    await staysTrueFor(1_000, () => caller.socket.readyState === WebSocket.OPEN);
    expect(await caller.closed).toEqual({ code: 1013, reason: 'the key cannot be checked at the moment' });
  });

  it('need no lookup in Redis for a message', async () => {
    await start();
    const { caller } = await openWithNewKey();
    // The report that the key was created causes another lookup.
    await scenarioPause(600);
    const before = await keyLookups();
    for (let call = 0; call < 100; call++) await caller.call('net_version');
    // The hash of drained upstreams is read too, each 2 s.
    expect(await keyLookups()).toBeLessThan(before + 50);
  });
});

it('revoking a key in a file closes its sockets too', async () => {
  redis = await startRedis();
  gateway = await startGateway({ main: network(5, [node.url]) });
  const caller = await openCaller(socketUrl(gateway, 'main'));
  await gateway.gateway.keys.revoke(digestOf(gateway.key).slice(0, 12));
  expect(await endsOf([caller])).toEqual([revoked]);
});

async function keyLookups(): Promise<number> {
  return Number(/cmdstat_hgetall:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1] ?? 0);
}
