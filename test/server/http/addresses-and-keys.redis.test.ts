import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { eventually } from '../../support/eventually.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis } from '../../support/redis.ts';
import { expectResponse, expectNoBody, expectRejection, resultText } from './expect-response.ts';
import { head, openRaw, post as rawPost } from './raw-connection.ts';

const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const rpcResponse = resultText('1', '5');
const noNetwork =
  'no network at this address; send JSON-RPC by POST to <base URL>/v3/<key> or by WebSocket to <base URL>/ws/v3/<key>, where base URLs are: ' +
  '/main, https://rpc.example.org, /other';

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({
    main: network(5, [node.url], { baseUrls: ['https://rpc.example.org'] }),
    other: network(6, [node.url]),
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const post = (path: string, body = call): Promise<Response> => fetch(gateway.address + path, { method: 'POST', body });

/** Sends the path unchanged; `fetch` would normalise it. */
async function postRaw(path: string): Promise<{ status: number; body: string }> {
  const connection = await openRaw(gateway.gateway.port);
  connection.send(rawPost(path, call));
  const { status, body } = await connection.response();
  connection.destroy();
  return { status, body };
}

describe('an address', () => {
  it.each(['/main/v3/KEY', '/main/v3/KEY/', '//main/v3/KEY', '/main//v3/KEY', '/main/v3//KEY', '//main//v3//KEY//'])(
    '%s belongs to the network: trailing and doubled slashes are ignored',
    async (path) => {
      expect(await postRaw(path.replace('KEY', gateway.key))).toEqual({ status: 200, body: rpcResponse });
    },
  );

  it.each(['/main/v3/KEY?', '/main/v3/KEY?a=b', '/main/v3/KEY/?a=/v3/x', '/main/v3/KEY?%'])(
    '%s belongs to the network: the query is ignored',
    async (path) => {
      expect(await postRaw(path.replace('KEY', gateway.key))).toEqual({ status: 200, body: rpcResponse });
    },
  );

  it.each([
    ...['/', '/v3/KEY', '/nowhere/v3/KEY', '/main/other/v3/KEY', '/Main/v3/KEY', '/main/v4/KEY', '/main/KEY'],
    ...['/main/v3/KEY/more', '/%6dain/v3/KEY', '/main/v3/x/v3/KEY', '/nowhere/v3/', '/v3'],
    ...['/%', '/%E0%A4%A/v3/%FF', '/%00/v3/KEY', '/main/../other/v3/KEY', '/constructor/v3/KEY', '/__proto__/v3/KEY'],
  ])('%s is none: 404, -32002, and the base URLs that there are', async (path) => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(rawPost(path.replace('KEY', gateway.key), call));
    const { status, headers, body } = await connection.response();
    connection.destroy();
    expect([status, JSON.parse(body)]).toEqual([
      404,
      { jsonrpc: '2.0', id: null, error: { code: -32002, message: noNetwork } },
    ]);
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{6}-/);
    expect(headers['content-type']).toBe('application/json');
  });

  it.each(['/main', '/main/', '//main?a=b', 'http://a.test/main'])(
    '%s has no key: the message says what to add',
    async (path) => {
      const { status, body } = await postRaw(path);
      expect([status, (JSON.parse(body) as { error: object }).error]).toEqual([
        404,
        {
          code: -32002,
          message:
            'no key at this address; send JSON-RPC by POST to /main/v3/<key> or by WebSocket to /main/ws/v3/<key>',
        },
      ]);
    },
  );

  it('that does not exist is rejected before the key is checked', async () => {
    await expectRejection(await post('/nowhere/v3/wrong'), 404, -32002, noNetwork);
  });
});

describe('a verb other than POST', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'QUERY'])('%s is rejected with 405 and Allow', async (verb) => {
    const response = await fetch(gateway.url('main'), { method: verb });
    expect(response.headers.get('allow')).toBe('POST, OPTIONS');
    await expectRejection(response, 405, -32600, 'method not allowed: send JSON-RPC by POST');
  });

  it('HEAD is rejected with 405, Allow and no body', async () => {
    const response = await fetch(gateway.url('main'), { method: 'HEAD' });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([405, 'POST, OPTIONS', '']);
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{6}-/);
  });

  it('OPTIONS gets 204', async () => {
    const response = await fetch(gateway.url('main'), { method: 'OPTIONS' });
    expect([response.status, await response.text()]).toEqual([204, '']);
  });
});

describe('a key', () => {
  it.each(['/main/v3', '/main/v3/', '/main//v3//', '/main/v3?key=x'])('that is missing is 401: %s', async (path) => {
    await expectRejection(await post(path), 401, -32002, 'project id required in the url');
  });

  it.each([
    ...['x', 'KEY', '0'.repeat(31), `${'0'.repeat(32)}0`, `gh_${'0'.repeat(32)}`, 'gh_', 'undefined', '%20', 'a%2Fb'],
    ...['x'.repeat(10_000), '%E0%A4%A', '0'.repeat(31) + 'g', `${'0'.repeat(32)}%00`],
  ])('that is malformed is 401: %s', async (key) => {
    const { status, body } = await postRaw(`/main/v3/${key}`);
    expect([status, JSON.parse(body)]).toEqual([401, invalidKey]);
  });

  const invalidKey = { jsonrpc: '2.0', id: null, error: { code: -32002, message: 'invalid project id' } };

  it('that is unknown is 401, on every network', async () => {
    const key = makeKey();
    await expectRejection(await post(`/main/v3/${key}`), 401, -32002, 'invalid project id');
    await expectRejection(await post(`/other/v3/${key}`), 401, -32002, 'invalid project id');
    await expectRejection(await post(`/main/v3/${'0123456789abcdef'.repeat(2)}`), 401, -32002, 'invalid project id');
  });

  it('that is revoked is 401 from then on', async () => {
    const key = makeKey();
    await gateway.gateway.keys.add(digestOf(key), { name: 'mallory', createdAt: new Date().toISOString() });
    await expectResponse(await post(`/main/v3/${key}`), 200, rpcResponse);
    await gateway.gateway.keys.revoke(keyIdOf(digestOf(key)));
    await expectRejection(await post(`/main/v3/${key}`), 401, -32002, 'invalid project id');
  });

  it('is checked before the body is read: an invalid key with a huge or broken body is 401', async () => {
    for (const body of ['{', '', ' '.repeat(20_000_000), '['.repeat(1_000_000), '[]']) {
      await expectRejection(await post('/main/v3/wrong', body), 401, -32002, 'invalid project id');
    }
    const headers = { 'content-encoding': 'gzip' };
    const response = await fetch(`${gateway.address}/main/v3/wrong`, { method: 'POST', body: call, headers });
    await expectRejection(response, 401, -32002, 'invalid project id');
  });

  it('that is invalid is rejected before any of the body arrives', async () => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(head('POST /main/v3/wrong', { 'content-length': 1_000 }));
    expect((await connection.response()).status).toBe(401);
    connection.destroy();
  });

  it('that is valid gets 204 for a notification', async () => {
    await expectNoBody(await post(`/main/v3/${gateway.key}`, '{"jsonrpc":"2.0","method":"net_version"}'));
  });
});

it('unknown keys from one address end in 429, -32005, with Retry-After in two digits, and valid keys stay valid', async () => {
  const fresh = await startGateway({ main: network(5, [node.url]) }, { unknownKeysMax: '10' });
  try {
    const send = (key: string): Promise<Response> =>
      fetch(`${fresh.address}/main/v3/${key}`, { method: 'POST', body: call });
    await expectResponse(await send(fresh.key), 200, rpcResponse);
    for (let tries = 0; tries < 10; tries++) expect((await send(makeKey())).status).toBe(401);
    const response = await send(makeKey());
    expect(response.headers.get('retry-after')).toMatch(/^(0[1-9]|10)$/);
    await expectRejection(response, 429, -32005, 'too many unknown project ids from this address');
    await expectResponse(await send(fresh.key), 200, rpcResponse);
    // Malformed keys are not looked up, so they do not count and still get 401.
    await expectRejection(await send('malformed'), 401, -32002, 'invalid project id');
  } finally {
    await fresh.stop();
  }
});

it('a valid key that was not used before is served beside unlimited unknown keys from its address', async () => {
  const redis = await startRedis();
  const shared = await startGateway({ main: network(5, [node.url]) }, { unknownKeysMax: '10', REDIS_URL: redis.url });
  try {
    const send = (key: string): Promise<Response> =>
      fetch(`${shared.address}/main/v3/${key}`, { method: 'POST', body: call });
    const guesses = (count: number): Promise<number[]> =>
      Promise.all(Array.from({ length: count }, async () => (await send(makeKey())).status));
    expect(await guesses(10)).not.toContain(200);
    const more = guesses(200);
    await expectResponse(await send(shared.key), 200, rpcResponse);
    expect(new Set(await more)).toEqual(new Set([429]));
  } finally {
    await shared.stop();
    await redis.stop();
  }
});

it('a key that cannot be checked is 503, -32603; a missing or malformed key is still 401', async () => {
  const redis = await startRedis();
  const withRedis = await startGateway({ main: network(5, [node.url]) }, { REDIS_URL: redis.url });
  try {
    const send = (key: string): Promise<Response> =>
      fetch(`${withRedis.address}/main/v3/${key}`, { method: 'POST', body: call });
    // Waits until the key is found in memory: Redis may still have to report that it was created.
    await eventually(async () => {
      await expectResponse(await send(withRedis.key), 200, rpcResponse);
      return ((await readMetrics(withRedis.address)).value('gatehouse_key_lookups_total', { outcome: 'hit' }) ?? 0) > 0;
    });
    await redis.kill();
    await expectRejection(await send(makeKey()), 503, -32603, 'the key cannot be checked at the moment');
    await expectResponse(await send(withRedis.key), 200, rpcResponse);
    await expectRejection(await send(''), 401, -32002, 'project id required in the url');
    await expectRejection(await send('malformed'), 401, -32002, 'invalid project id');
  } finally {
    await withRedis.stop();
    await redis.stop();
  }
});
