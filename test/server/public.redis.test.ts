import { createHash } from 'node:crypto';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { runKeys } from '../auth/run-keys.ts';
import { hang } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { openCaller, type Caller } from './websocket/caller.ts';

const chainId = 5;
/** A call of one unit. */
const unit = ['eth_getStorageAt', [`0x${'ab'.repeat(20)}`, '0x0', 'latest']] as const;
/** Rate that returns nothing in less than hours. */
const slowRate = 0.001;

let redis: RedisServer;
let node: FakeNode;
beforeAll(async () => {
  const responses = {
    eth_getStorageAt: `0x${'0'.repeat(64)}`,
    eth_getLogs: [],
    eth_sendRawTransaction: ([raw]: [string]) => `0x${createHash('sha256').update(raw).digest('hex')}`,
    debug_traceTransaction: {},
  };
  [redis, node] = await Promise.all([startRedis(), startFakeNode({ chainId, responses })]);
});
afterAll(async () => {
  await Promise.all([redis.stop(), node.close()]);
});

interface Sent {
  readonly status: number;
  readonly message?: string;
  readonly result?: unknown;
}

interface Options {
  readonly from?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

/** A gateway with one network, whose clients are behind a proxy. */
async function open(
  options: object | undefined,
  env: Record<string, string> = {},
  more: object = {},
): Promise<TestGateway> {
  const file = network(chainId, [node.url], { ...more, ...(options && { public: options }) });
  const gateway = await startGateway({ main: file }, { TRUSTED_PROXIES: '127.0.0.1', ...env });
  onTestFinished(() => gateway.stop());
  return gateway;
}

async function post(
  gateway: TestGateway,
  body: unknown,
  { from, path = '/main', headers = {} }: Options = {},
): Promise<Response> {
  const forwarded: Record<string, string> = from === undefined ? {} : { 'x-forwarded-for': from };
  return fetch(gateway.address + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...forwarded, ...headers },
  });
}

async function send(
  gateway: TestGateway,
  [method, params]: readonly [string, readonly unknown[]],
  options?: Options,
): Promise<Sent> {
  const response = await post(gateway, { jsonrpc: '2.0', id: 1, method, params }, options);
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
  return { status: response.status, ...(error === undefined ? { result } : { message: error.message }) };
}

async function statuses(gateway: TestGateway, count: number, options?: Options): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < count; at++) found.push((await send(gateway, unit, options)).status);
  return found;
}

async function addKey(gateway: TestGateway, permissions: Record<string, string> = {}): Promise<string> {
  const key = makeKey();
  await gateway.gateway.keys.add(digestOf(key), { name: 'a key', createdAt: '2026-01-02T03:04:05.678Z', permissions });
  return key;
}

const socketAt = (gateway: TestGateway, path: string): string => gateway.address.replace('http', 'ws') + path;

/** Notifications have no id. */
async function subscribe(caller: Caller): Promise<unknown> {
  caller.send('{"jsonrpc":"2.0","id":7,"method":"eth_subscribe","params":["syncing"]}');
  for (;;) {
    const message = JSON.parse(await caller.next()) as { readonly id?: number };
    if (message.id === 7) return message;
  }
}

const paths = ['/main', '/main/', '/main/v3', '/main/v3/'];
const socketPaths = ['/main/ws', '/main/ws/v3'];

describe('a call without a key', () => {
  it('is rejected as ever on a network without public', async () => {
    const gateway = await open(undefined);
    const found = await Promise.all(paths.map(async (path) => (await send(gateway, unit, { path })).status));
    expect(found).toEqual([404, 404, 401, 401]);
    expect(await send(gateway, unit, { path: '/main/v3' })).toEqual({
      status: 401,
      message: 'project id required in the url',
    });
    const upgrades = socketPaths.map((path) =>
      openCaller(socketAt(gateway, path)).catch((error: unknown) => String(error)),
    );
    expect(await Promise.all(upgrades)).toEqual([
      'Error: Unexpected server response: 404',
      'Error: Unexpected server response: 401',
    ]);
  });

  it('is served at the base URL and at v3, over HTTP and WebSocket', async () => {
    const gateway = await open({ rate: 100 });
    for (const path of paths)
      expect(await send(gateway, ['eth_chainId', []], { path })).toEqual({ status: 200, result: '0x5' });
    for (const path of socketPaths) {
      const caller = await openCaller(socketAt(gateway, path));
      expect(await caller.call('eth_chainId')).toMatchObject({ result: '0x5' });
      expect(await subscribe(caller)).toHaveProperty('result');
      caller.socket.close();
    }
  });

  it('from a browser gets its preflight, and pages stay at the same address', async () => {
    const gateway = await open({}, { STATUS_PAGE: 'public' });
    const headers = { origin: 'https://app.example.org', 'access-control-request-method': 'POST' };
    const preflight = await fetch(`${gateway.address}/main`, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    const page = await fetch(`${gateway.address}/main`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const status = await fetch(`${gateway.address}/main`, { headers: { accept: 'application/json' } });
    expect(await status.json()).toMatchObject({ networks: [{ slug: 'main', public: {} }] });
  });

  it('never has a wrong key, token or secret', async () => {
    const gateway = await open({});
    const options: Options[] = [
      { path: `/main/v3/${makeKey()}` },
      { path: '/main/v3/x' },
      ...paths.flatMap((path) => [
        { path, headers: { 'x-api-key': makeKey() } },
        { path, headers: { authorization: 'Bearer a.b.c' } },
        { path, headers: { authorization: 'Basic Og==' } },
      ]),
    ];
    for (const one of options) expect([one, (await send(gateway, unit, one)).status]).toEqual([one, 401]);
    const { socket } = await openCaller(socketAt(gateway, '/main/ws'));
    socket.close();
    for (const protocols of [['gatehouse.jwt', 'a.b.c'], ['gatehouse.jwt']]) {
      await expect(
        openCaller(socketAt(gateway, '/main/ws'), { headers: { 'sec-websocket-protocol': protocols.join(', ') } }),
      ).rejects.toThrow('401');
    }
    const withHeaders = await open({}, { KEY_HEADERS: 'on' });
    expect((await send(withHeaders, unit, { headers: { 'x-api-key': makeKey() } })).status).toBe(401);
    const key = await addKey(withHeaders);
    expect((await send(withHeaders, unit, { headers: { 'x-api-key': key } })).status).toBe(200);
  });

  it('has the methods, bounds and origins of the network file', async () => {
    const gateway = await open({ bounds: { maxBlockRange: 10 }, origins: ['app.example.org'] });
    const headers = { origin: 'https://app.example.org' };
    expect((await send(gateway, unit)).status).toBe(403);
    expect((await send(gateway, unit, { headers })).status).toBe(200);
    const logs = (to: string) => ['eth_getLogs', [{ fromBlock: '0x1', toBlock: to }]] as const;
    expect(await send(gateway, logs('0xa'), { headers })).toEqual({ status: 200, result: [] });
    expect((await send(gateway, logs('0xff'), { headers })).message).toContain('maxBlockRange is 10');
    expect(await send(gateway, ['eth_newBlockFilter', []], { headers })).toEqual({
      status: 403,
      message: 'project id required: this method is not public',
    });
  });
});

describe('debug methods', () => {
  const trace = ['debug_traceTransaction', [`0x${'11'.repeat(32)}`]] as const;

  it('are public only if they are named', async () => {
    const methods = ['eth', 'debug_traceTransaction'];
    const closed = await open({}, {}, { methods });
    expect((await send(closed, trace)).status).toBe(403);
    expect((await send(closed, trace, { path: `/main/v3/${closed.key}` })).status).toBe(200);
    const opened = await open({ methods: ['debug_traceTransaction'] }, {}, { methods });
    expect((await send(opened, trace)).status).toBe(200);
    expect((await send(opened, unit)).status).toBe(403);
  });
});

describe.each(['memory', 'Redis'])('the limits of an address, with those of keys in %s', (place) => {
  const openLimited = (options: object): Promise<TestGateway> =>
    open(options, place === 'Redis' ? { REDIS_URL: redis.url } : {});

  it.each([
    ['rate', '198.51.100', { rate: slowRate, burst: 3 }, 'request rate of your address without project id exceeded'],
    ['daily', '198.51.101', { daily: 3 }, 'daily request count of your address without project id exceeded'],
  ])('%s: each address has its own share', async (_name, prefix, limits, message) => {
    const gateway = await openLimited(limits);
    for (const from of [`${prefix}.1`, `${prefix}.2`]) {
      expect(await statuses(gateway, 4, { from })).toEqual([200, 200, 200, 429]);
      expect(await send(gateway, unit, { from })).toEqual({ status: 429, message });
    }
    expect(await statuses(gateway, 4, { path: `/main/v3/${gateway.key}`, from: `${prefix}.1` })).toEqual([
      200, 200, 200, 200,
    ]);
  });

  it('a /64 of IPv6 has one share, and counts for its /48', async () => {
    const gateway = await openLimited({ rate: slowRate, burst: 2, ...(place === 'Redis' && { daily: 1_000 }) });
    const net = place === 'Redis' ? '2001:db8:1' : '2001:db8:2';
    expect(await statuses(gateway, 2, { from: `${net}:1::1` })).toEqual([200, 200]);
    expect(await statuses(gateway, 1, { from: `${net}:1::2` })).toEqual([429]);
    // 2 of 32 are used.
    let served = 0;
    for (let subnet = 2; subnet < 40; subnet++) {
      served += (await statuses(gateway, 1, { from: `${net}:${subnet.toString(16)}::1` })).filter(
        (status) => status === 200,
      ).length;
    }
    expect(served).toBe(30);
    expect(await statuses(gateway, 1, { from: `${net.replace('db8', 'db9')}:1::1` })).toEqual([200]);
  });

  it('all addresses together have a limit, and keys have theirs', async () => {
    const gateway = await openLimited({
      rate: 100,
      burst: 100,
      total: place === 'Redis' ? { daily: 5 } : { rate: slowRate, burst: 5 },
    });
    const found: number[] = [];
    for (let host = 1; host <= 8; host++) found.push(...(await statuses(gateway, 1, { from: `203.0.113.${host}` })));
    expect(found).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect((await send(gateway, unit, { from: '203.0.113.9' })).message).toMatch(
      /of all callers without project id exceeded/,
    );
    expect(await statuses(gateway, 3, { path: `/main/v3/${gateway.key}` })).toEqual([200, 200, 200]);
  });

  it('the sender of a transaction has a limit, from any address', async () => {
    const gateway = await openLimited({ rate: 100, perSender: { rate: slowRate, burst: 2 } });
    const seed = place === 'Redis' ? 1 : 2;
    const [one, other] = [1, 2].map((at) =>
      privateKeyToAccount(`0x${(16 * seed + at).toString(16).padStart(64, '0')}`),
    );
    const transaction = async (account: typeof one, nonce: number): Promise<readonly [string, readonly unknown[]]> => [
      'eth_sendRawTransaction',
      [await account?.signTransaction({ chainId, nonce, gas: 21_000n, maxFeePerGas: 1n, to: `0x${'12'.repeat(20)}` })],
    ];
    const found: Sent[] = [];
    for (let nonce = 0; nonce < 3; nonce++) {
      found.push(await send(gateway, await transaction(one, nonce), { from: `203.0.113.${nonce}` }));
    }
    expect(found.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(found[2]?.message).toBe('rate of transactions of this sender without project id exceeded');
    expect((await send(gateway, await transaction(other, 0))).status).toBe(200);
    expect((await send(gateway, await transaction(one, 3), { path: `/main/v3/${gateway.key}` })).status).toBe(200);
  });
});

it('gateways with one Redis share the limits of all callers, and each counts the addresses', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const options = { rate: slowRate, burst: 2, daily: 100, total: { daily: 5 } };
  const [one, other] = await Promise.all([1, 2].map(() => open(options, { REDIS_URL: own.url })));
  const found: number[] = [];
  for (const from of ['198.51.100.77', '198.51.100.78'])
    for (const gateway of [one, other]) found.push(...(await statuses(gateway as TestGateway, 2, { from })));
  expect(found).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
});

it('an address that has used its share has no other one while Redis is unavailable', async () => {
  const own = await startRedis();
  const gateway = await open({ daily: 2 }, { REDIS_URL: own.url });
  const from = '198.51.100.78';
  expect(await statuses(gateway, 3, { from })).toEqual([200, 200, 429]);
  await own.stop();
  expect(await statuses(gateway, 1, { from })).toEqual([429]);
  expect(await statuses(gateway, 3, { from: '198.51.100.79' })).toEqual([200, 200, 429]);
});

it('many addresses do not fill Redis: keys can be created and revoked', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const gateway = await open({ rate: 10, burst: 50, daily: 100_000, total: { rate: 1e6 } }, { REDIS_URL: own.url });
  const [, used = ''] = /^used_memory:(\d+)/m.exec(await own.cli('INFO', 'memory')) ?? [];
  await own.cli('CONFIG', 'SET', 'maxmemory', String(Number(used) + 400_000));
  for (let index = 0; index < 2_000; index += 50) {
    const froms = Array.from({ length: 50 }, (_, at) => `203.0.${(index + at) >> 8}.${(index + at) & 255}`);
    const sent = await Promise.all(froms.map((from) => send(gateway, unit, { from })));
    expect(sent.map(({ status }) => status)).toEqual(froms.map(() => 200));
  }
  const key = await addKey(gateway);
  expect(await gateway.gateway.keys.revoke(digestOf(key).slice(0, 12))).toHaveProperty('revokedAt');
});

it('a reload keeps what addresses have used, and closes sockets when calls without a key end', async () => {
  const gateway = await open({ daily: 3 });
  const file = (options: object | undefined): object => network(chainId, [node.url], options && { public: options });
  expect(await statuses(gateway, 3)).toEqual([200, 200, 200]);
  gateway.save({ main: file({ daily: 5 }) });
  await gateway.gateway.reload();
  expect(await statuses(gateway, 3)).toEqual([200, 200, 429]);
  const caller = await openCaller(socketAt(gateway, '/main/ws'));
  gateway.save({ main: file(undefined) });
  await gateway.gateway.reload();
  expect(await caller.closed).toEqual({ code: 1008, reason: 'project id required' });
  expect((await send(gateway, unit, { path: '/main/v3' })).status).toBe(401);
});

describe('what is open at once', () => {
  it('requests in flight have limits of the address and of all, and keys go on', async () => {
    const own = await startFakeNode({ chainId, responses: { eth_getStorageAt: '0x0', eth_gasPrice: '0x1' } });
    const file = network(chainId, [own.url], { public: { concurrency: 2, total: { concurrency: 6 } } });
    const gateway = await startGateway({ main: file }, { TRUSTED_PROXIES: '127.0.0.1' });
    onTestFinished(async () => {
      await gateway.stop();
      await own.close();
    });
    own.always(hang, 'eth_gasPrice');
    const hanging = ['eth_gasPrice', []] as const;
    const left = new AbortController();
    const start = (from: string): void =>
      void fetch(`${gateway.address}/main`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: hanging[0], params: hanging[1] }),
        headers: { 'x-forwarded-for': from },
        signal: left.signal,
      }).catch(() => undefined);
    start('203.0.113.1');
    start('203.0.113.1');
    await eventually(() => own.callsOf('eth_gasPrice').length > 0);
    const full = await send(gateway, unit, { from: '203.0.113.1' });
    expect(full).toEqual({ status: 429, message: 'too many requests in flight without project id' });
    expect((await send(gateway, unit, { from: '203.0.113.2' })).status).toBe(200);
    for (const host of [3, 4, 5, 6]) for (let at = 0; at < 2; at++) start(`203.0.113.${host}`);
    await eventually(async () => (await send(gateway, unit, { from: '203.0.113.9' })).status === 429);
    expect((await send(gateway, unit, { path: `/main/v3/${gateway.key}` })).status).toBe(200);
    left.abort();
    await eventually(async () => (await send(gateway, unit, { from: '203.0.113.1' })).status === 200);
  });

  it('WebSockets and subscriptions have limits of the address and of all', async () => {
    const gateway = await open({ sockets: 1, total: { sockets: 2, subscriptions: 3 } });
    const socketFrom = (from: string) =>
      openCaller(socketAt(gateway, '/main/ws'), { headers: { 'x-forwarded-for': from } });
    const one = await socketFrom('203.0.113.1');
    await expect(socketFrom('203.0.113.1')).rejects.toThrow('429');
    const two = await socketFrom('203.0.113.2');
    await expect(socketFrom('203.0.113.3')).rejects.toThrow('429');
    expect(await subscribe(one)).toHaveProperty('result');
    expect(await subscribe(one)).toHaveProperty('result');
    expect(await subscribe(two)).toHaveProperty('result');
    expect(await subscribe(two)).toHaveProperty('error.message', 'too many subscriptions without project id');
    const withKey = await openCaller(socketAt(gateway, `/main/ws/v3/${gateway.key}`));
    expect(await subscribe(withKey)).toHaveProperty('result');
    one.socket.close();
    await eventually(() =>
      socketFrom('203.0.113.3').then(
        (caller) => caller.socket.readyState === 1,
        () => false,
      ),
    );
  });
});

it('usage and metrics have all callers without a key as one', async () => {
  const gateway = await open({}, { REDIS_URL: redis.url, METRICS_PER_KEY: 'on' });
  const calls = async (): Promise<number> => {
    const { out } = await runKeys({ REDIS_URL: redis.url, DATA_DIR: gateway.dataDir }, ['usage', 'public', '--json']);
    const rows = JSON.parse(out) as { readonly method: string; readonly calls: number }[];
    return rows.filter(({ method }) => method === 'eth_getStorageAt').reduce((sum, row) => sum + row.calls, 0);
  };
  const before = await calls();
  for (const host of [1, 2, 3]) await statuses(gateway, 1, { from: `192.0.2.${host}` });
  await eventually(async () => (await calls()) === before + 3);
  const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
  expect(metrics).toContain('gatehouse_key_calls_total{key="public"} 3');
});
