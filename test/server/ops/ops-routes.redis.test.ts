import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { version } from '../../../gateway/config/package.ts';
import { status } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis } from '../../support/redis.ts';

let node: FakeNode;
const opened: TestGateway[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
});
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.stop();
});
afterAll(() => node.close());

async function open(env: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startGateway({ main: network(5, [`${node.url}/secret-path`]) }, env);
  opened.push(gateway);
  return gateway;
}

async function get(address: string, path: string, method = 'GET'): Promise<{ status: number; text: string }> {
  const response = await fetch(address + path, { method });
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  return { status: response.status, text: await response.text() };
}

describe('on the main port', () => {
  it('/metrics is a page for Prometheus', async () => {
    const { address } = await open();
    const response = await fetch(`${address}/metrics`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; (version=0\.0\.4; )?charset=utf-8/);
    expect(await response.text()).toContain(`gatehouse_build_info{version="${version}"`);
  });

  it('/livez returns ok', async () => {
    const { address } = await open();
    expect(await get(address, '/livez')).toEqual({ status: 200, text: 'ok\n' });
    expect(await get(address, '/livez', 'HEAD')).toEqual({ status: 200, text: '' });
  });

  it.each(['/readyz', '/healthz'])('%s describes the state of the gateway', async (path) => {
    const { address } = await open();
    const { status: got, text } = await get(address, path);
    expect([got, JSON.parse(text)]).toEqual([
      200,
      {
        ready: true,
        draining: false,
        configuration: {
          digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
          loadedAt: expect.any(String) as string,
          refused: null,
        },
        keyStore: { kind: 'file', available: true },
        networks: { main: { upstreams: 1, up: 1, unused: ['node-0'], failing: {} } },
      },
    ]);
  });

  it.each(['POST', 'PUT', 'DELETE'])('%s is not allowed on them', async (verb) => {
    const { address } = await open();
    for (const path of ['/metrics', '/livez', '/readyz']) expect((await get(address, path, verb)).status).toBe(404);
  });
});

describe('/readyz', () => {
  it('shows a failing upstream, and stays ready', async () => {
    const gateway = await open();
    node.always(status(500));
    for (const slot of ['0x0', '0x1', '0x2'])
      await gateway.call('main', 'eth_getStorageAt', [`0x${'1'.repeat(40)}`, slot, 'latest']);
    node.always(undefined);
    const { status: got, text } = await get(gateway.address, '/readyz');
    const failing = {
      'node-0': expect.stringMatching(/^circuit open for \d s: HTTP 500 .*, 3 of 3 requests failed$/) as string,
    };
    const networks = { main: { upstreams: 1, up: 0, failing } };
    expect([got, JSON.parse(text)]).toMatchObject([200, { ready: true, networks }]);
  });

  it('is 503 while the key store is unavailable and no key is in memory, and 200 once it is back', async () => {
    const redis = await startRedis();
    const gateway = await open({ REDIS_URL: redis.url });
    expect((await get(gateway.address, '/readyz')).status).toBe(200);
    await redis.kill();
    let away = await get(gateway.address, '/readyz');
    await eventually(async () => (away = await get(gateway.address, '/readyz')).status === 503);
    expect([away.status, JSON.parse(away.text)]).toMatchObject([
      503,
      {
        ready: false,
        reason: expect.stringMatching(/^no key can be checked: Redis is unavailable/) as string,
        draining: false,
        keyStore: { kind: 'redis', available: false },
      },
    ]);
    expect((await get(gateway.address, '/livez')).status).toBe(200);
    await redis.restart();
    await expect.poll(async () => (await get(gateway.address, '/readyz')).status).toBe(200);
    await redis.stop();
  });

  it('is 503 once the keys in memory are older than KEY_STALE_MAX_S, as calls with them are', async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    const gateway = await open({ REDIS_URL: redis.url, KEY_STALE_MAX_S: '12' });
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ result: '0x5' });
    await redis.kill();
    await expect.poll(async () => (await get(gateway.address, '/readyz')).text).toContain('"available":false');
    expect((await get(gateway.address, '/readyz')).status).toBe(200);
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ result: '0x5' });
    await eventually(async () => (await get(gateway.address, '/readyz')).status === 503, 60_000, 250);
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ error: { code: -32603 } });
    await redis.restart();
    await expect.poll(async () => (await get(gateway.address, '/readyz')).status).toBe(200);
  });

  it('is 503 once no key can be checked also beside public networks, which are still served', async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    const files = {
      main: network(5, [node.url]),
      open: network(5, [node.url], { public: { methods: ['eth_chainId'], rate: 10, total: { rate: 100 } } }),
    };
    const gateway = await startGateway(files, { REDIS_URL: redis.url, KEY_STALE_MAX_S: '12' });
    opened.push(gateway);
    const callPublic = async (): Promise<unknown> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' });
      return (await fetch(`${gateway.address}/open`, { method: 'POST', body })).json();
    };
    const readiness = async (): Promise<[number, unknown]> => {
      const { status: got, text } = await get(gateway.address, '/readyz');
      return [got, JSON.parse(text)];
    };
    // The key is in memory from now on.
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ result: '0x5' });
    await redis.kill();
    await expect.poll(readiness).toMatchObject([200, { ready: true, keyStore: { available: false } }]);
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ result: '0x5' });
    await eventually(async () => (await readiness())[0] === 503, 60_000, 250);
    const reason = expect.stringMatching(/^no key can be checked: /) as string;
    expect(await readiness()).toMatchObject([503, { ready: false, reason }]);
    expect(await callPublic()).toMatchObject({ result: '0x5' });
    await redis.restart();
    await expect.poll(readiness).toMatchObject([200, { ready: true, keyStore: { available: true } }]);
  });

  it('stays 200 without the key store if all networks are public', async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    const files = {
      main: network(5, [node.url], { public: { methods: ['eth_chainId'], rate: 10, total: { rate: 100 } } }),
    };
    const gateway = await startGateway(files, { REDIS_URL: redis.url });
    opened.push(gateway);
    await redis.kill();
    await expect.poll(async () => (await get(gateway.address, '/readyz')).text).toContain('"available":false');
    expect((await get(gateway.address, '/readyz')).status).toBe(200);
  });

  it('shows the texts of broken files on the ops port only, and their positions to everybody', async () => {
    const broken = "name: Base\nchainId: 'secret-id'\n";
    const open0 = await open();
    const withOps = await open({ OPS_PORT: '0' });
    for (const [gateway, address, mistake] of [
      [open0, open0.address, 'main.yaml:2:10'],
      [
        withOps,
        `http://127.0.0.1:${withOps.gateway.opsPort ?? 0}`,
        expect.stringContaining('main.yaml:2:10 chainId: '),
      ],
    ] as const) {
      gateway.save({ main: broken });
      await gateway.gateway.reload();
      const { configuration } = JSON.parse((await get(address, '/readyz')).text) as Record<string, object>;
      expect(configuration).toMatchObject({ refused: { mistakes: expect.arrayContaining([mistake]) as unknown } });
      expect(JSON.stringify(configuration).includes('chainId: ')).toBe(gateway === withOps);
    }
  });

  it('shows no secret', async () => {
    const gateway = await open();
    const { text } = await get(gateway.address, '/readyz');
    for (const secret of [gateway.key, 'secret-path', node.url, new URL(node.url).host]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('with OPS_PORT', () => {
  const paths = ['/metrics', '/livez', '/readyz', '/healthz'];

  it('they are on that port, and only there', async () => {
    const { address, gateway } = await open({ OPS_PORT: '0' });
    expect(gateway.opsPort).not.toBe(gateway.port);
    const opsAddress = `http://127.0.0.1:${gateway.opsPort ?? 0}`;
    for (const path of paths) {
      expect((await get(opsAddress, path)).status).toBe(200);
      expect((await get(address, path)).status).toBe(404);
    }
  });

  it('calls are rejected there', async () => {
    const { gateway, key } = await open({ OPS_PORT: '0' });
    const url = `http://127.0.0.1:${gateway.opsPort ?? 0}/main/v3/${key}`;
    const response = await fetch(url, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}' });
    expect([response.status, await response.json()]).toMatchObject([404, { id: null, error: { code: -32002 } }]);
  });

  it('a start fails if that port is in use, and leaves nothing open', async () => {
    const { gateway } = await open();
    await expect(open({ OPS_PORT: String(gateway.port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
