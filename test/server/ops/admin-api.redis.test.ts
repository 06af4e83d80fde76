import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readSettings, SettingsError } from '../../../gateway/config/settings.ts';
import { editableFields } from '../../../gateway/auth/permissions/permission-fields.ts';
import { digestOf, isWellFormedKey, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis } from '../../support/redis.ts';

const token = 'correct-horse-battery';
const foreignKey = '0123456789abcdefABCDEF9876543210';

interface RpcResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

let gateway: TestGateway;

async function open(env: Record<string, string> = {}): Promise<void> {
  const node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  const started = await startGateway({ main: network(5, [node.url]) }, { OPS_PORT: '0', ADMIN_TOKEN: token, ...env });
  gateway = started;
  onTestFinished(async () => {
    await started.stop();
    await node.close();
  });
}

/** @param given a string is sent as it is */
async function sendRequest(
  verb: string,
  path: string,
  given?: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
): Promise<RpcResponse> {
  const body = typeof given === 'string' ? given : JSON.stringify(given);
  const init = { method: verb, headers, ...(given !== undefined && { body }) };
  const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Record<string, unknown> };
}

async function create(body: object = { name: 'alice' }): Promise<{ id: string; key: string; secret?: string }> {
  const { status, body: made } = await sendRequest('POST', '/admin/keys', body);
  expect(status).toBe(201);
  return made as { id: string; key: string };
}

async function statusOf(key: string, headers: Record<string, string> = {}): Promise<number> {
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: [`0x${'ab'.repeat(20)}`, '0x0', 'latest'] };
  const init = { method: 'POST', headers, body: JSON.stringify(call) };
  return (await fetch(`${gateway.address}/main/v3/${key}`, init)).status;
}

describe.each(['file', 'redis'])('the admin API with keys in %s', (kind) => {
  let audit: () => Promise<string>;

  beforeEach(async () => {
    if (kind === 'file') {
      await open();
      audit = () => Promise.resolve(readFileSync(join(gateway.dataDir, 'audit.jsonl'), 'utf8'));
      return;
    }
    const redis = await startRedis();
    onTestFinished(redis.stop);
    await open({ REDIS_URL: redis.url });
    audit = () => redis.cli('XRANGE', 'gatehouse:audit', '-', '+');
  });

  it('creates a key that is valid at once, and shows and lists its record without the key', async () => {
    const { id, key } = await create({ name: ' alice ', permissions: { networks: ['main', 'other'], rate: 50 } });
    expect(isWellFormedKey(key)).toBe(true);
    expect(id).toBe(keyIdOf(digestOf(key)));
    await eventually(async () => (await statusOf(key)) === 200, SOON_MS);
    const shown = await sendRequest('GET', `/admin/keys/${id}`);
    expect(shown.body).toEqual({
      ...{ id, name: 'alice', createdAt: expect.any(String) as string },
      ...{ state: 'active', permissions: { networks: 'main,other', rate: '50' } },
    });
    const listed = await sendRequest('GET', '/admin/keys');
    expect(listed.body).toEqual({
      keys: expect.arrayContaining([shown.body]) as unknown,
      ...{ matching: 2, total: 2, active: 2 },
    });
    expect(JSON.stringify([shown, listed])).not.toContain(key);
  });

  it('imports a key of another service, once, and does not show it', async () => {
    const id = keyIdOf(digestOf(foreignKey));
    expect(await create({ name: 'old', key: foreignKey })).toEqual({ id });
    const again = await sendRequest('POST', '/admin/keys', { name: 'new', key: foreignKey });
    expect([again.status, again.body]).toEqual([409, { error: { message: 'This key already exists' } }]);
  });

  it('changes the permissions of a key, and removes them by null', async () => {
    const { id, key } = await create({ name: 'alice', permissions: { networks: 'other', daily: 5 } });
    expect(await statusOf(key)).toBe(403);
    const changed = await sendRequest('PATCH', `/admin/keys/${id}`, { permissions: { networks: null, monthly: '7' } });
    expect([changed.status, changed.body]).toEqual([200, { id }]);
    await eventually(async () => (await statusOf(key)) === 200, SOON_MS);
    expect((await sendRequest('GET', `/admin/keys/${id}`)).body['permissions']).toEqual({ daily: '5', monthly: '7' });
  });

  it('creates secrets, which are shown once', async () => {
    const { id, key, secret = '' } = await create({ name: 'alice', secret: true });
    const basic = (given: string) => ({ authorization: `Basic ${Buffer.from(`:${given}`).toString('base64')}` });
    expect([await statusOf(key), await statusOf(key, basic(secret))]).toEqual([401, 200]);
    const { body } = await sendRequest('POST', `/admin/keys/${id}/rotate`, { secret: true, grace: '0m' });
    expect(body).toEqual({ id, secret: expect.stringMatching(/^ghs_\w{32}$/) as string });
    await eventually(async () => (await statusOf(key, basic(String(body['secret'])))) === 200, SOON_MS);
    expect(await statusOf(key, basic(secret))).toBe(401);
    expect((await sendRequest('PATCH', `/admin/keys/${id}`, { secret: false })).body).toEqual({ id });
    await eventually(async () => (await statusOf(key)) === 200, SOON_MS);
    const shown = JSON.stringify([await sendRequest('GET', `/admin/keys/${id}`), await audit()]);
    for (const hidden of [secret, digestOf(secret), digestOf(key), key]) expect(shown).not.toContain(hidden);
  });

  it('rotates and revokes, and records each change in the audit', async () => {
    const { id, key } = await create();
    const rotated = await sendRequest('POST', `/admin/keys/${id}/rotate`);
    expect(rotated.status).toBe(201);
    const next = rotated.body as { id: string; key: string };
    await eventually(async () => (await statusOf(next.key)) === 200, SOON_MS);
    const { expiresAt } = (await sendRequest('GET', `/admin/keys/${id}`)).body['permissions'] as { expiresAt: string };
    const left = Date.parse(expiresAt);
    expect(Math.abs(left - Date.now() - 86_400_000)).toBeLessThan(60_000);
    const revoked = await sendRequest('POST', `/admin/keys/${id}/revoke`);
    expect([revoked.status, revoked.body]).toMatchObject([200, { id, revokedAt: expect.any(String) as string }]);
    await eventually(async () => (await statusOf(key)) === 401, SOON_MS);
    const ended = await sendRequest('POST', `/admin/keys/${id}/rotate`);
    expect([ended.status, ended.body]).toEqual([409, { error: { message: `The key ${id} is not active` } }]);
    const lines = await audit();
    for (const act of ['create', 'rotate', 'revoke']) expect(lines).toContain(act);
    expect(lines).toContain('admin API, admin, 127.0.0.1');
    expect(lines).not.toContain(token);
  });

  it('returns the usage of a key', async () => {
    const { id, key } = await create();
    await eventually(async () => (await statusOf(key)) === 200, SOON_MS);
    await eventually(async () => {
      const { body } = await sendRequest('GET', `/admin/keys/${id}/usage?days=1`);
      const [row] = body['usage'] as Record<string, unknown>[];
      return row?.['method'] === 'eth_getStorageAt' && row['calls'] === 1 && row['units'] === 1 && row['errors'] === 0;
    });
  });
});

describe('the admin API rejects', () => {
  beforeEach(() => open());

  it.each([
    ['no token', {}],
    ['another token', { authorization: 'Bearer correct-horse-batterz' }],
    ['a part of it', { authorization: `Bearer ${token.slice(0, -1)}` }],
    ['more than it', { authorization: `Bearer ${token}x` }],
    ['Basic', { authorization: `Basic ${token}` }],
    ['none after the word', { authorization: 'Bearer ' }],
  ])('%s', async (_, headers) => {
    for (const path of ['/admin/keys', '/admin/openapi.json', '/admin', '/admin/else']) {
      const { status, headers: got, body } = await sendRequest('GET', path, undefined, headers);
      expect([status, got.get('www-authenticate')]).toEqual([401, 'Bearer realm="gatehouse"']);
      expect(got.get('cache-control')).toBe('no-store');
      expect(JSON.stringify(body)).not.toContain('horse');
    }
    expect((await sendRequest('POST', '/admin/keys', { name: 'alice' }, headers)).status).toBe(401);
  });

  it.each([
    ['{}', undefined, 'name is missing', 'name'],
    ['{', undefined, 'the body is not JSON', undefined],
    ['[]', undefined, 'the body: expected an object with the name of the key', undefined],
    ['', { name: 'a', permission: {} }, 'permission is not known; did you mean permissions?', 'permission'],
    ['', { name: 'a', limits: {} }, 'limits is not known: expected name, permissions, key, secret', 'limits'],
    // The former name.
    ['', { name: 'a', rules: {} }, 'rules is not known; did you mean permissions?', 'rules'],
    ['', { name: '' }, 'name: expected 1 to 64 printable characters', 'name'],
    ['', { name: ' ' }, 'name: expected 1 to 64 printable characters', 'name'],
    ['', { name: 'a\u0007' }, 'name: expected 1 to 64 printable characters', 'name'],
    ['', { name: 7 }, 'name: expected 1 to 64 printable characters', 'name'],
    ['', { name: 'a', key: 'x' }, 'key: expected a key of another service, 32 hexadecimal digits', 'key'],
    ['', { name: 'a', permissions: { rat: 5 } }, 'permissions.rat is not known; did you mean rate?', 'permissions.rat'],
    [
      '',
      { name: 'a', permissions: { rate: -5 } },
      'rate: expected number above 0, to 1000000000000, with at most 6 decimals (request units per second), got -5',
      'permissions.rate',
    ],
    [
      '',
      { name: 'a', permissions: { rate: {} } },
      'permissions.rate: expected text, a number, a list of texts that is not empty, or null',
      'permissions.rate',
    ],
    [
      '',
      { name: 'a', permissions: { networks: [5] } },
      'permissions.networks.0: expected text without commas',
      'permissions.networks.0',
    ],
    // Two entries would let in more than one, and none more than any.
    [
      '',
      { name: 'a', permissions: { userAgents: ['X11, Linux'] } },
      'permissions.userAgents.0: expected text without commas',
      'permissions.userAgents.0',
    ],
    [
      '',
      { name: 'a', permissions: { origins: [] } },
      'permissions.origins: expected text, a number, a list of texts that is not empty, or null',
      'permissions.origins',
    ],
    [
      '',
      { name: 'a', permissions: { secrets: 'ab' } },
      'permissions.secrets is not known; did you mean sockets?',
      'permissions.secrets',
    ],
    ['', { name: 'a', permissions: { burst: 5 } }, 'burst: requires rate', 'permissions.burst'],
  ])('%s%j: %s', async (text, object, message, field) => {
    const { status, body } = await sendRequest('POST', '/admin/keys', object ?? text);
    expect([status, body]).toEqual([400, { error: { ...(field !== undefined && { field }), message } }]);
    expect((await sendRequest('GET', '/admin/keys')).body['keys']).toHaveLength(1);
  });

  it('what is too large, unknown, or another verb', async () => {
    const large = await sendRequest('POST', '/admin/keys', {
      name: 'a',
      permissions: { origins: 'x'.repeat(100_000) },
    });
    expect([large.status, large.body]).toEqual([
      413,
      { error: { message: 'the body is too large: at most 100000 bytes are allowed' } },
    ]);
    const missing = { error: { message: 'There is no key with the id 0123456789ab' } };
    for (const [verb, path, body] of [
      ['GET', '', undefined],
      ['GET', '/usage', undefined],
      ['PATCH', '', { permissions: { rate: 1 } }],
      ['POST', '/rotate', {}],
      ['POST', '/revoke', undefined],
    ] as const) {
      const response = await sendRequest(verb, `/admin/keys/0123456789ab${path}`, body);
      expect([verb, path, response.status, response.body]).toEqual([verb, path, 404, missing]);
    }
    const deleted = await sendRequest('DELETE', '/admin/keys/0123456789ab');
    expect([deleted.status, deleted.headers.get('allow')]).toEqual([405, 'GET, PATCH']);
    expect((await sendRequest('GET', '/admin/kees')).status).toBe(404);
    expect((await sendRequest('GET', '/admin/keys/%zz')).status).toBe(400);
    const { id } = await create();
    expect((await sendRequest('GET', `/admin/keys/${id}/usage?days=91`)).body).toEqual({
      error: { field: 'days', message: 'days: expected a whole number from 1 to 90' },
    });
    for (const path of ['openapi.json', 'networks', 'choices', `keys/${id}`]) {
      const { status, body } = await sendRequest('GET', `/admin/${path}?team=a`);
      expect([path, status, body]).toEqual([
        path,
        400,
        { error: { field: 'team', message: 'team is not known: expected no parameters' } },
      ]);
    }
    expect((await sendRequest('PATCH', `/admin/keys/${id}`, {})).body).toEqual({
      error: { message: 'the body: expected an object with name, permissions or secret' },
    });
    expect((await sendRequest('POST', `/admin/keys/${id}/rotate`, { grace: 'soon' })).body).toEqual({
      error: { field: 'grace', message: 'grace: expected a time such as 7d, 24h or 0m' },
    });
  });

  it('all requests on the port for calls', async () => {
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['/admin/keys', '/admin/openapi.json']) {
      expect((await fetch(gateway.address + path, { headers })).status).toBe(404);
    }
  });
});

it('is off without ADMIN_TOKEN', async () => {
  await open({ ADMIN_TOKEN: '' });
  expect((await sendRequest('GET', '/admin/keys')).status).toBe(404);
  expect((await sendRequest('GET', '/readyz')).status).toBe(200);
});

it('imports the keys of the file into Redis, once, and records each in the audit', async () => {
  await open();
  const { id, key } = await create();
  const rejected = await sendRequest('POST', '/admin/import');
  const message = 'keys import copies keys to Redis';
  expect([rejected.status, rejected.body]).toEqual([409, { error: { message } }]);

  const redis = await startRedis();
  onTestFinished(redis.stop);
  await open({ REDIS_URL: redis.url, DATA_DIR: gateway.dataDir });
  expect((await sendRequest('POST', '/admin/import')).body).toEqual({ added: 2, there: 0, leftOut: 0 });
  expect((await sendRequest('POST', '/admin/import')).body).toEqual({ added: 0, there: 2, leftOut: 0 });
  await eventually(async () => (await statusOf(key)) === 200, SOON_MS);
  expect((await sendRequest('GET', `/admin/keys/${id}`)).body).toMatchObject({ id, name: 'alice' });
  expect(await redis.cli('XRANGE', 'gatehouse:audit', '-', '+')).toMatch(
    /admin API, admin, 127.0.0.1\nact\nimport\nkey\n/,
  );
});

it('returns 503 while Redis is unavailable', async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  await open({ REDIS_URL: redis.url });
  await redis.kill();
  const { status, headers, body } = await sendRequest('GET', '/admin/keys');
  expect([status, headers.get('retry-after')]).toEqual([503, '01']);
  expect(body).toEqual({ error: { message: 'the key store cannot be reached at the moment' } });
});

it('serves its document, which has every permission with a flag', async () => {
  await open();
  const { status, body } = await sendRequest('GET', '/admin/openapi.json');
  const { openapi, components } = body as {
    openapi: string;
    components: { schemas: { Permissions: { properties: object } } };
  };
  expect([status, openapi]).toEqual([200, '3.1.0']);
  const names = editableFields.map(({ name }) => name);
  const message = 'schemas/generated/admin-api.json is stale: run `npm run generate`';
  expect(Object.keys(components.schemas.Permissions.properties), message).toEqual(names);
});

it.each([
  [{ ADMIN_TOKEN: 'too-short', OPS_PORT: '1' }, /^ADMIN_TOKEN: expected 16 characters or more/],
  [{ ADMIN_TOKEN: 'with a space in between', OPS_PORT: '1' }, /^ADMIN_TOKEN: expected 16 characters or more/],
  [{ ADMIN_TOKEN: token }, /^ADMIN_TOKEN: the admin API is on OPS_PORT only, which is not set$/],
  [{ ADMIN_TOKENS: `ci:read:${token}` }, /^ADMIN_TOKENS: the admin API is on OPS_PORT only, which is not set$/],
])('%j is invalid, and the message does not contain the token', (env, message) => {
  expect(() => readSettings(env)).toThrow(SettingsError);
  expect(() => readSettings(env)).toThrow(message);
  expect(() => readSettings(env)).not.toThrow(Object.values(env)[0]);
});
