import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startIssuer } from '../../auth/tokens/issuer.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const adminToken = 'a-token-of-16-chars';
const transaction = '0x02f8b00bad';
let node: FakeNode;
let broken: FakeNode;
let gateway: TestGateway;

interface Row {
  readonly at: string;
  readonly count: number;
  readonly requestId: string;
  readonly network?: string;
  readonly key?: string;
  readonly keyName?: string;
  readonly method?: string;
  readonly outcome: string;
  readonly rule?: string;
  readonly unitsLeft?: number;
  readonly params?: string;
  readonly explanation?: {
    attempts: { upstream: string; atMs: number; ms: number; outcome: string }[];
    cache?: string;
  };
}

async function open(env: Record<string, string> = {}): Promise<TestGateway> {
  const networks = {
    five: network(5, [node.url]),
    six: network(6, [broken.url, node.url]),
  };
  return startGateway(networks, { OPS_PORT: '0', ADMIN_TOKEN: adminToken, ...env });
}

async function admin(path: string, own = gateway, init: RequestInit = {}): Promise<unknown> {
  const address = `http://127.0.0.1:${own.gateway.opsPort ?? 0}/admin${path}`;
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  return (await fetch(address, { ...init, headers })).json();
}

async function rows(query: string, own = gateway): Promise<Row[]> {
  return ((await admin(`/calls?${query}`, own)) as { calls: Row[] }).calls;
}

async function newKey(permissions: object, own = gateway): Promise<{ id: string; key: string }> {
  const body = JSON.stringify({ name: 'app', permissions });
  return (await admin('/keys', own, { method: 'POST', body })) as { id: string; key: string };
}

async function call(
  own: TestGateway,
  slug: string,
  key: string,
  method: string,
  params: unknown[] = [],
): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return fetch(`${own.address}/${slug}/v3/${key}`, {
    method: 'POST',
    body,
    headers: { origin: 'https://evil.example' },
  });
}

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x1', eth_blockNumber: '0x10' } });
  broken = await startFakeNode({ chainId: 6 });
  await broken.refuse();
  gateway = await open();
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([node.close(), broken.close()]);
});

describe('the latest calls', () => {
  it('have the name of the key, without a read of the key store', async () => {
    const { id, key } = await newKey({});
    await call(gateway, 'six', key, 'eth_nope');
    const entries = vi.spyOn(gateway.gateway.keys, 'entries');
    onTestFinished(() => {
      entries.mockRestore();
    });
    expect(await rows(`key=${id}`)).toMatchObject([{ key: id, keyName: 'app' }]);
    expect(entries).not.toHaveBeenCalled();
  });

  it.each([
    ['origins', { origins: ['app.example.org'] }, 'five', 'eth_gasPrice', 'key-settings'],
    ['networks', { networks: ['six'] }, 'five', 'eth_gasPrice', 'key-settings'],
    ['methods', { methods: ['eth_call'] }, 'five', 'eth_gasPrice', 'key-settings'],
    ['expiresAt', { expiresAt: '2020-01-01T00:00:00Z' }, 'five', 'eth_gasPrice', 'key-invalid'],
  ])('have the permission that rejected one: %s', async (rule, permissions, slug, method, outcome) => {
    const { id, key } = await newKey(permissions);
    const response = await call(gateway, slug, key, method);
    const [row] = await rows(`key=${id}`);
    expect(row).toMatchObject({
      rule,
      outcome,
      key: id,
      network: slug,
      requestId: response.headers.get('x-request-id'),
    });
    // The caller does not get the rule.
    expect(await response.text()).not.toContain(rule);
  });

  it('have the limit that rejected one, and how much it had left', async () => {
    const { id, key } = await newKey({ daily: '1' });
    await call(gateway, 'five', key, 'eth_gasPrice');
    await call(gateway, 'five', key, 'eth_gasPrice');
    const [row] = await rows(`key=${id}&outcome=daily-quota`);
    expect(row).toMatchObject({ rule: 'daily', unitsLeft: 0, method: 'eth_gasPrice' });
  });

  it('have requests without a valid key', async () => {
    await call(gateway, 'five', 'wrong', 'eth_gasPrice');
    const [row] = await rows('network=five&outcome=key-invalid');
    expect(row).not.toHaveProperty('method');
    expect(row?.count).toBeGreaterThan(0);
  });

  it('have equal failures of one minute in one row', async () => {
    const { id, key } = await newKey({ methods: ['eth_call'] });
    for (let count = 0; count < 5; count++) await call(gateway, 'five', key, 'eth_gasPrice');
    const found = await rows(`key=${id}`);
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(5);
    // A minute may have ended meanwhile.
    expect(found.length).toBeLessThan(3);
  });

  it('are those of a time, its end excluded', async () => {
    const { id, key } = await newKey({ methods: ['eth_call'] });
    await call(gateway, 'five', key, 'eth_gasPrice');
    const [row] = await rows(`key=${id}`);
    const at = Date.parse(row?.at ?? '');
    const time = (ms: number): string => new Date(ms).toISOString();
    expect(await rows(`key=${id}&from=${time(at)}&to=${time(at + 1)}`)).toHaveLength(1);
    expect(await rows(`key=${id}&from=${time(at + 1)}`)).toEqual([]);
    expect(await rows(`key=${id}&to=${time(at)}`)).toEqual([]);
    // Seconds and their parts may be left out.
    expect(await rows(`key=${id}&from=${time(at).slice(0, 16)}Z`)).toHaveLength(1);
    for (const wrong of ['yesterday', '2026-01-31T12:00', '2026-01-31', '2026-13-01T00:00Z'])
      expect(await admin(`/calls?from=${wrong}`)).toEqual({
        error: { field: 'from', message: 'from: expected a time in UTC such as 2026-01-31T12:00:00Z' },
      });
  });

  it('have the attempts of a call with their times', async () => {
    await call(gateway, 'six', gateway.key, 'eth_gasPrice');
    await eventually(async () => (await rows('network=six&upstream=node-0')).length > 0);
    const [row] = await rows('network=six&upstream=node-0');
    const [first] = row?.explanation?.attempts ?? [];
    expect(first).toMatchObject({ upstream: 'node-0', outcome: 'transport' });
    expect(first?.atMs).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['hashed', /^[0-9a-f]{16}$/],
    ['shown', /^\["0x00000000000000000000000000000000000000a1","latest"\]$/],
    ['off', undefined],
  ])('have parameters as set: %s', async (mode, expected) => {
    const own = await open({ RECENT_CALLS_PARAMS: mode });
    const { key, id } = await newKey({ methods: ['eth_gasPrice'] }, own);
    const params = ['0x00000000000000000000000000000000000000a1', 'latest'];
    await call(own, 'five', key, 'eth_getBalance', params);
    await call(own, 'five', key, 'eth_sendRawTransaction', [transaction]);
    const balance = (await rows(`key=${id}&method=eth_getBalance`, own))[0];
    if (expected === undefined) expect(balance).not.toHaveProperty('params');
    else expect(balance?.params).toMatch(expected);
    expect((await rows(`key=${id}&method=eth_sendRawTransaction`, own))[0]).not.toHaveProperty('params');
    const all = JSON.stringify(await admin('/calls?limit=1000', own));
    for (const secret of [transaction, key, adminToken]) expect(all).not.toContain(secret);
    await own.stop();
  });

  it('do not have a key that a caller wrote into its parameters', async () => {
    const own = await open({ RECENT_CALLS_PARAMS: 'shown' });
    const { key, id } = await newKey({ methods: ['eth_gasPrice'] }, own);
    await call(own, 'five', key, 'eth_getBalance', [key, 'latest']);
    const found = await rows(`key=${id}`, own);
    expect(found).toHaveLength(1);
    expect(JSON.stringify(found)).not.toContain(key);
    await own.stop();
  });

  it('say why a token was invalid, without the token', async () => {
    const issuer = await startIssuer();
    const own = await open();
    own.save({ auth: issuer.auth });
    await own.gateway.reload();
    const token = await issuer.sign({ aud: 'another' }, 60);
    const headers = { authorization: `Bearer ${token}` };
    const init = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}', headers };
    expect((await fetch(`${own.address}/five/v3`, init)).status).toBe(401);
    const found = await rows('outcome=token-invalid', own);
    expect(found).toMatchObject([{ count: 1, problem: 'invalid token: its claim aud is not valid here' }]);
    expect(JSON.stringify(found)).not.toContain(token);
    await own.stop();
    await issuer.close();
  });

  it.each([
    ['limit=0', 'limit', 'limit: expected a whole number from 1 to 1000'],
    ['metod=eth_call', 'metod', 'metod is not known: did you mean method?'],
    ['key=a&key=b', 'key', 'key: expected one text'],
  ])('are not listed for an invalid query: %s', async (query, field, message) => {
    const { error } = (await admin(`/calls?${query}`)) as { error: { field: string; message: string } };
    expect(error.field).toBe(field);
    expect(error.message).toContain(message.split(':')[0]);
  });
});

it('rejections by a permission count in the usage of the key and in the metrics', async () => {
  const { id, key } = await newKey({ networks: ['six'] });
  await call(gateway, 'five', key, 'eth_gasPrice');
  await eventually(async () => {
    const { usage } = (await admin(`/keys/${id}/usage?days=1`)) as { usage: { errors: number }[] };
    return usage.reduce((sum, { errors }) => sum + errors, 0) === 1;
  });
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/metrics`)).text();
  expect(metrics).toMatch(/gatehouse_key_rejections_total\{network="five",rule="networks"\} \d/);
});
