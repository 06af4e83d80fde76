import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { newDrain, readDrains, removeDrain, storeDrain } from '../../gateway/drains/drains.ts';
import { openStore } from '../../gateway/store/open-store.ts';
import type { Store } from '../../gateway/store/store.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { openSubscriber } from '../subscriptions/subscriber.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';

const token = 'correct-horse-battery';
const HOUR_MS = 3_600_000;

let env: Record<string, string>;
let nodes: readonly FakeNode[];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-drains-'));
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

async function open(count = 2): Promise<TestGateway> {
  if (nodes.length === 0) {
    const responses = { eth_gasPrice: '0x1', eth_getStorageAt: `0x${'0'.repeat(64)}` };
    nodes = await Promise.all(Array.from({ length: count }, () => startFakeNode({ chainId: 5, responses })));
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.close()));
    });
  }
  const urls = nodes.map(({ url }) => url);
  const file = network(5, urls, { failsafe: { hedgeAfterMs: 'off' }, cache: 'off' });
  const gateway = await startGateway({ main: file }, { OPS_PORT: '0', ADMIN_TOKEN: token, ...env });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await gateway.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  return { ...gateway, stop };
}

async function send(gateway: TestGateway, verb: string, path: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const drain = (gateway: TestGateway, name: string, body: object = {}) =>
  send(gateway, 'POST', `/admin/networks/main/upstreams/${name}/drain`, body);

/** How many of some calls each node gets. */
async function counts(gateway: TestGateway): Promise<number[]> {
  const before = nodes.map((node) => node.callsOf('eth_gasPrice').length);
  for (let index = 0; index < 3; index++) await gateway.call('main', 'eth_gasPrice');
  return nodes.map((node, index) => node.callsOf('eth_gasPrice').length - (before[index] ?? 0));
}

function openDrains(): Store {
  const store = openStore({ REDIS_URL: env['REDIS_URL'], DATA_DIR: env['DATA_DIR'] ?? '' }, openLog('silent'));
  onTestFinished(() => store.close());
  return store;
}

describe.each(['a file', 'Redis'])('drained upstreams in %s', (kind) => {
  beforeEach(async () => {
    nodes = [];
    env = { DATA_DIR: folder() };
    if (kind !== 'Redis') return;
    const redis = await startRedis();
    onTestFinished(redis.stop);
    env = { ...env, REDIS_URL: redis.url };
  });

  it('get no calls and no polls from any gateway, also after a restart, until they are returned', async () => {
    const first = await open();
    const second = await open();
    expect(await counts(first)).toEqual([3, 0]);
    const { status, body } = await drain(first, 'node-0', { for: '1h' });
    expect([status, body]).toEqual([
      200,
      {
        ...{ network: 'main', upstream: 'node-0', at: expect.any(String) as string },
        by: expect.stringMatching(/^admin API, admin, /) as string,
        until: expect.any(String) as string,
      },
    ]);
    expect(Date.parse(String(body['until'])) - Date.parse(String(body['at']))).toBe(HOUR_MS);
    expect(await counts(first)).toEqual([0, 3]);
    await eventually(async () => (await counts(second))[1] === 3);
    const polls = nodes[0]?.calls.length;
    await second.stop();
    await first.stop();

    const third = await open();
    expect(await counts(third)).toEqual([0, 3]);
    expect(nodes[0]?.calls.length).toBe(polls);
    expect((await send(third, 'POST', '/admin/networks/main/upstreams/node-0/undrain')).body).toEqual({
      ...{ network: 'main', upstream: 'node-0' },
      wasDrained: true,
    });
    expect(await counts(third)).toEqual([3, 0]);
  });

  it('return to service by themselves at their end', async () => {
    const store = openDrains();
    await store.waitUntilReady(5_000);
    const gateway = await open();
    await storeDrain(store, newDrain('main', 'node-0', 'test', 6_000));
    await eventually(async () => (await counts(gateway))[0] === 0);
    await eventually(async () => (await counts(gateway))[0] === 3);
    expect(await readDrains(store)).toEqual([]);
    expect(await removeDrain(store, 'main', 'no-such')).toBe(false);
  });

  it('are shown in the status, /readyz, metrics and the list of the admin API, and are in the audit log', async () => {
    const gateway = await open();
    await drain(gateway, 'node-0');
    const status = await fetch(`${gateway.address}/main`, { headers: { accept: 'application/json' } });
    const { networks } = (await status.json()) as { networks: { upstreams: object[] }[] };
    expect(networks[0]?.upstreams[0]).toMatchObject({
      ...{ state: 'drained', skipReason: 'drained', drain: { at: expect.any(String) as string } },
    });
    expect(JSON.stringify(networks)).not.toContain('admin API');
    const ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
    expect(await (await fetch(`${ops}/readyz`)).json()).toMatchObject({
      networks: { main: { upstreams: 2, up: 1, drained: ['node-0'], failing: {} } },
    });
    const metrics = await readMetrics(ops);
    const drainedAt = metrics.samples.filter(({ name }) => name === 'gatehouse_upstream_drained_timestamp_seconds');
    expect(drainedAt).toHaveLength(1);
    expect(Math.abs((drainedAt[0]?.value ?? 0) * 1000 - Date.now())).toBeLessThan(60_000);
    expect((await send(gateway, 'GET', '/admin/upstreams')).body).toEqual({
      upstreams: [
        {
          ...{ network: 'main', upstream: 'node-0', state: 'drained', reason: 'an operator has drained it' },
          drain: { at: expect.any(String) as string, by: expect.any(String) as string },
        },
        { network: 'main', upstream: 'node-1', state: 'unused' },
      ],
    });
    if (kind === 'Redis') return;
    const [line] = readFileSync(join(env['DATA_DIR'] ?? '', 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(JSON.parse(line ?? '')).toMatchObject({ act: 'drain', key: '-', detail: 'main node-0' });
  });
});

describe('the drain of an upstream', () => {
  beforeEach(() => {
    nodes = [];
    env = { DATA_DIR: folder() };
  });

  it('of the only upstream makes calls fail with 503, and does not change the head of others', async () => {
    const gateway = await open(1);
    expect((await drain(gateway, 'node-0')).body).toMatchObject({
      warnings: ['no upstream of main is in service: calls that need one are 503'],
    });
    const response = await gateway.post('main', '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}');
    expect(response.status).toBe(503);
    expect(await counts(gateway)).toEqual([0]);
  });

  it('moves the stream of pending transactions to another upstream', async () => {
    const gateway = await open();
    for (const node of nodes) {
      node.response('eth_newPendingTransactionFilter', '0xf1');
      node.response('eth_getFilterChanges', []);
      node.response('eth_uninstallFilter', true);
    }
    const subscriber = await openSubscriber(gateway, 'main');
    onTestFinished(() => {
      subscriber.caller.socket.terminate();
    });
    const hashes = await subscriber.subscribe('newPendingTransactions');
    const [first, second] = nodes as [FakeNode, FakeNode];
    expect([first, second].map((node) => node.callsOf('eth_newPendingTransactionFilter').length)).toEqual([1, 0]);
    await drain(gateway, 'node-0');
    const hash = `0x${'ab'.repeat(32)}`;
    second.response('eth_getFilterChanges', [hash]);
    await eventually(() => hashes.length === 1);
    expect(hashes).toEqual([hash]);
    const polls = first.callsOf('eth_getFilterChanges').length;
    await staysTrueFor(1_000, () => first.callsOf('eth_getFilterChanges').length === polls);
  });

  it('is active again after a reload that changes its network', async () => {
    const gateway = await open();
    await drain(gateway, 'node-0');
    const urls = nodes.map(({ url }) => url);
    gateway.save({
      main: network(5, urls, { name: 'Other', failsafe: { hedgeAfterMs: 'off' }, cache: 'off', balance: 'spread' }),
    });
    await gateway.gateway.reload();
    expect(await counts(gateway)).toEqual([0, 3]);
  });

  it.each<[string, object, number, unknown]>([
    ['no-such', {}, 404, { message: expect.stringContaining('no upstream of this name') as string }],
    ['node-0', { for: '1w' }, 400, { field: 'for', message: expect.stringContaining('such as 7d') as string }],
    ['node-0', { until: 5 }, 400, expect.anything()],
  ])('of %s with %j is rejected', async (name, body, status, error) => {
    const gateway = await open();
    expect(await drain(gateway, name, body)).toEqual({ status, body: { error } });
  });

  it('stays as it is while the file cannot be read', async () => {
    const gateway = await open();
    await drain(gateway, 'node-0');
    // From now on the key is in memory.
    expect(await counts(gateway)).toEqual([0, 3]);
    const store = openDrains();
    const file = new DatabaseSync(join(env['DATA_DIR'] ?? '', 'gatehouse.db'));
    file.exec('DROP TABLE records');
    file.close();
    await expect(readDrains(store)).rejects.toThrow('gatehouse.db cannot be used (no such table: records)');
    expect(await counts(gateway)).toEqual([0, 3]);
    expect((await drain(gateway, 'node-1')).status).toBe(409);
  });
});

it('drains of a file of version 0.1 are imported once, and the file is kept under another name', async () => {
  nodes = [];
  env = { DATA_DIR: folder() };
  const path = join(env['DATA_DIR'] ?? '', 'drains.json');
  const former = { network: 'main', upstream: 'node-0', at: '2026-11-29T10:00:00.000Z', by: 'root@host' };
  const ended = { ...former, upstream: 'node-1', until: '2026-11-29T11:00:00.000Z' };
  writeFileSync(path, JSON.stringify([former, ended], undefined, 2));
  const first = await open();
  expect(await counts(first)).toEqual([0, 3]);
  expect(JSON.parse(readFileSync(`${path}.imported`, 'utf8'))).toEqual([former, ended]);
  await send(first, 'POST', '/admin/networks/main/upstreams/node-0/undrain');
  await first.stop();
  const second = await open();
  expect(existsSync(path)).toBe(false);
  expect(await counts(second)).toEqual([3, 0]);
});
