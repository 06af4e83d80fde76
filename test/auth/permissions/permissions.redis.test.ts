import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import type { PermissionChange } from '../../../gateway/auth/stores/key-store.ts';
import { estimate, limited, receipt, storage, type Limited } from '../../limits/limited.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { putKeyByHand } from '../../support/redis-keys.ts';
import { startRedis } from '../../support/redis.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';

const contract = `0x${'aB'.repeat(20)}`;
const other = `0x${'cd'.repeat(20)}`;
const call = (to?: string) => ['eth_estimateGas', [to === undefined ? { data: '0x60' } : { to }]] as const;
const storageOf = (address: string) => ['eth_getStorageAt', [address, '0x0', 'latest']] as const;
const logs = (filter: object) => ['eth_getLogs', [filter]] as const;
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const settings = { code: -32002, message: 'rejected due to project ID settings' };

let one: Limited;
beforeEach(async () => {
  one = await limited();
});

const statusOf = async (...sent: Parameters<Limited['send']>): Promise<number> => (await one.send(...sent)).status;

describe('a key with permissions', () => {
  it.each<[string, PermissionChange, Record<string, string>, number]>([
    ['networks', { networks: 'other' }, {}, 403],
    ['networks', { networks: 'other,test' }, {}, 200],
    ['origins', { origins: '*.example.org' }, {}, 403],
    ['origins', { origins: '*.example.org' }, { origin: 'https://app.example.org' }, 200],
    ['origins', { origins: '*.example.org' }, { origin: 'https://example.com' }, 403],
    ['user agents', { userAgents: 'MyApp,curl' }, { 'user-agent': 'curl/8.0' }, 200],
    ['user agents', { userAgents: 'MyApp,curl' }, { 'user-agent': 'Mozilla/5.0' }, 403],
    ['addresses', { ips: '127.0.0.0/8,::1' }, {}, 200],
    ['addresses', { ips: '10.0.0.0/8' }, { 'x-forwarded-for': '10.0.0.1' }, 403],
    ['kinds together', { ips: '127.0.0.1', userAgents: 'MyApp' }, { 'user-agent': 'curl' }, 403],
    ['kinds together', { ips: '127.0.0.1', userAgents: 'MyApp' }, { 'user-agent': 'MyApp' }, 200],
  ])('is restricted by %s: %j with %j', async (_, permissions, headers, status) => {
    await one.setPermissions(permissions);
    const sent = await one.send(storage, headers);
    expect(sent.status).toBe(status);
    if (status === 403) expect(sent.body).toEqual({ jsonrpc: '2.0', id: null, error: settings });
    expect(one.reached()).toBe(status === 200 ? 1 : 0);
  });

  it('is restricted to its methods and namespaces, in a batch separately for each call', async () => {
    await one.setPermissions({ methods: 'eth_getStorageAt,net' });
    expect(await statusOf(storage)).toBe(200);
    expect(await statusOf(['net_version'])).toBe(200);
    const rejected = await one.send(receipt);
    expect([rejected.status, rejected.body]).toEqual([403, { jsonrpc: '2.0', id: 1, error: settings }]);
    expect(await one.send(['no_such'])).toMatchObject({ status: 200, body: { error: { code: -32601 } } });
    const batch = await one.batch([storage, receipt, ['eth_chainId']]);
    expect(batch.status).toBe(200);
    expect(batch.body).toMatchObject([
      { id: 0, result: expect.any(String) as string },
      { id: 1, error: settings },
      { id: 2, error: settings },
    ]);
  });

  it('is restricted to its contracts, also if a call has no address', async () => {
    await one.setPermissions({ contracts: contract });
    one.node.response('eth_getLogs', []);
    const allowed = [
      storageOf(contract.toLowerCase()),
      call(contract),
      logs({ address: [contract] }),
      receipt,
      ['eth_chainId'],
      ['eth_getStorageValues', [{ [contract]: [] }, 'latest']],
    ] as const;
    one.node.response('eth_getStorageValues', { [contract]: [] });
    for (const each of allowed) expect([each, await statusOf(each)]).toEqual([each, 200]);
    const rejected = [
      storageOf(other),
      call(other),
      call(),
      logs({}),
      logs({ address: null }),
      logs({ address: [] }),
      logs({ address: [contract, other] }),
      // Its addresses are nested, so the method is rejected.
      ['eth_simulateV1', [{ blockStateCalls: [{ calls: [{ to: contract }] }] }]],
      ['eth_simulateV1', [{ blockStateCalls: [] }]],
      ['eth_getStorageValues', [{ [contract]: [], [other]: [] }, 'latest']],
      ['eth_getStorageValues', [{}, 'latest']],
    ] as const;
    for (const each of rejected) expect([each, await statusOf(each)]).toEqual([each, 403]);
    // A state override replaces the code of the contract.
    const withOverride = (override: unknown) => ['eth_estimateGas', [{ to: contract }, 'latest', override]] as const;
    expect(await statusOf(withOverride({ [contract]: { code: '0x60' } }))).toBe(403);
    expect(await statusOf(withOverride({}))).toBe(200);
    // Invalid parameters are reported before permissions.
    expect(await one.send(['eth_getStorageAt', ['x']])).toMatchObject({
      status: 200,
      body: { error: { code: -32602 } },
    });
  });

  it('with contracts cannot call pass-through methods, unless its methods list them', async () => {
    const named = network(7, [one.node.url], { methods: ['eth', 'debug_traceCall'] });
    const gateway = await startGateway({ test: named });
    onTestFinished(() => gateway.stop());
    one.node.response('debug_traceCall', '0x');
    const id = keyIdOf(digestOf(gateway.key));
    const trace = () => gateway.call('test', 'debug_traceCall', [{ to: other }, 'latest']);
    for (const [permissions, response] of [
      [{}, { result: '0x' }],
      [{ contracts: contract }, { error: settings }],
      [{ contracts: contract, methods: 'debug' }, { error: settings }],
      [{ contracts: contract, methods: 'debug_traceCall' }, { result: '0x' }],
    ] as const) {
      await gateway.gateway.keys.update(id, permissions);
      expect(await trace()).toMatchObject(response);
    }
  });

  it('expires without a lookup', async () => {
    await one.setPermissions({ expiresAt: new Date(Date.now() + 2_000).toISOString() });
    expect(await statusOf(storage)).toBe(200);
    await eventually(async () => (await statusOf(storage)) === 401, SOON_MS);
    expect((await one.send(storage)).body).toMatchObject({ error: { code: -32002, message: 'invalid project id' } });
  });

  it('can require a secret, and two can be valid during a grace period', async () => {
    const soon = new Date(Date.now() + 2_500).toISOString();
    await one.setPermissions({ secrets: `${digestOf('new secret')},${digestOf('old:secret')}@${soon}` });
    for (const good of [':new secret', ':old:secret']) expect(await statusOf(storage, basic(good))).toBe(200);
    const bad = [
      basic('user:new secret'),
      basic(':new'),
      basic('new secret'),
      { authorization: 'Bearer new secret' },
      { authorization: 'Basic' },
      {},
    ];
    for (const headers of bad) {
      const sent = await one.send(storage, headers);
      expect([headers, sent.status]).toEqual([headers, 401]);
      expect(sent.body).toMatchObject({ error: { code: -32002, message: 'invalid project id or project secret' } });
    }
    await eventually(async () => (await statusOf(storage, basic(':old:secret'))) === 401, SOON_MS);
    expect(await statusOf(storage, basic(':new secret'))).toBe(200);
  });
});

it('a caller without the secret of a key gets 401, whatever other permissions the key has', async () => {
  await one.setPermissions({ networks: 'other', secrets: digestOf('secret') });
  const sent = await one.send(storage);
  const error = { code: -32002, message: 'invalid project id or project secret' };
  expect([sent.status, sent.body]).toEqual([401, { jsonrpc: '2.0', id: null, error }]);
  expect(await statusOf(storage, basic(':secret'))).toBe(403);
});

describe('a record written by hand', () => {
  it.each(['networks', 'origin', 'rate', 'expiresAt', 'secrets', 'note'])(
    'with an invalid field %s is rejected until it is corrected',
    async (field) => {
      const redis = await startRedis();
      onTestFinished(redis.stop);
      one = await limited({ REDIS_URL: redis.url });
      expect(await statusOf(storage)).toBe(200);
      const put = (fields: object): Promise<void> => putKeyByHand(redis, one.digest, { name: 'test', ...fields });
      await put({ [field]: '?!' });
      await eventually(async () => (await statusOf(storage)) === 401, SOON_MS);
      await put({});
      await eventually(async () => (await statusOf(storage)) === 200, SOON_MS);
      await put({ methods: 'net, web3' });
      await eventually(async () => (await statusOf(storage)) === 403, SOON_MS);
    },
  );
});

it('a key without permissions has no rate limit headers', async () => {
  expect(await statusOf(estimate)).toBe(200);
  expect((await one.send(estimate)).headers.get('ratelimit-limit')).toBeNull();
});
