import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readSettings, SettingsError } from '../../../gateway/config/settings.ts';
import { readAdminApi } from '../../../gateway/server/ops/read-admin-api.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { shiftClock } from '../../routing/with-nodes.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const tokens = {
  admin: 'token-of-the-admin',
  viewer: 'token-of-a-viewer',
  clerk: 'token-of-a-clerk',
  root: 'token-of-a-root-user',
};
const env = {
  OPS_PORT: '0',
  ADMIN_TOKEN: tokens.admin,
  ADMIN_TOKENS: `viewer:read:${tokens.viewer}, clerk:keys:${tokens.clerk},root:all:${tokens.root}`,
};

let gateway: TestGateway;

async function open(more: Record<string, string> = {}): Promise<void> {
  const node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) }, { ...env, ...more });
  const started = gateway;
  onTestFinished(async () => {
    await started.stop();
    await node.close();
  });
}

async function send(token: string | undefined, verb = 'GET', path = '/admin/keys', body?: object, from?: string) {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(from !== undefined && { 'x-forwarded-for': from }),
  };
  const init = { method: verb, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as { id: string } };
}

const rejections = async (reason: string): Promise<number> =>
  (await readMetrics(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`)).value('gatehouse_admin_rejections_total', {
    reason,
  }) ?? 0;

describe('the role of a token', () => {
  it.each([
    ['viewer', ['read']],
    ['clerk', ['read', 'keys']],
    ['root', ['read', 'keys', 'all']],
    ['admin', ['read', 'keys', 'all']],
  ] as const)('of %s permits the operations of %j', async (name, permitted) => {
    await open();
    const { operations } = readAdminApi();
    const rejected: string[] = [];
    for (const { verb, path, role, id } of operations) {
      const at = path.replace(':id', '0123456789ab').replace(':network', 'main').replace(':upstream', 'none');
      const { status, body } = await send(tokens[name], verb.toUpperCase(), at, verb === 'get' ? undefined : {});
      expect([id, status === 403]).toEqual([id, !(permitted as readonly string[]).includes(role)]);
      if (status === 403) rejected.push(JSON.stringify(body));
    }
    expect(await rejections('role')).toBe(rejected.length);
    const role = permitted.at(-1) ?? '';
    const others = ['keys', 'all'].filter((other) => !(permitted as readonly string[]).includes(other));
    const texts = others.map(
      (other) => `{"error":{"message":"the token ${name} has the role ${role}: this operation requires ${other}"}}`,
    );
    expect(new Set(rejected)).toEqual(new Set(texts));
  });

  it('of each operation is the lowest that it needs', () => {
    const roles = Object.fromEntries(readAdminApi().operations.map(({ id, role }) => [id, role]));
    expect(roles).toEqual({
      ...{
        document: 'read',
        list: 'read',
        show: 'read',
        usage: 'read',
        networks: 'read',
        calls: 'read',
        events: 'read',
      },
      ...{ create: 'keys', import: 'keys', update: 'keys', rotate: 'keys', revoke: 'keys', revokeAll: 'keys' },
      ...{ choices: 'read', upstreams: 'read', drain: 'all', undrain: 'all' },
      ...{ listTokenKeys: 'read', addTokenKey: 'keys', removeTokenKey: 'keys', usageOfDays: 'read' },
      ...{ explain: 'all', showLogLevel: 'read', setLogLevel: 'all' },
    });
  });
});

it('the audit log has the name of the token', async () => {
  await open();
  const { id } = (await send(tokens.clerk, 'POST', '/admin/keys', { name: 'alice' })).body;
  await send(tokens.root, 'POST', `/admin/keys/${id}/revoke`);
  await send(tokens.admin, 'POST', '/admin/keys', { name: 'bob' });
  await send(tokens.viewer, 'POST', '/admin/keys', { name: 'mallory' });
  const audit = readFileSync(join(gateway.dataDir, 'audit.jsonl'), 'utf8');
  const by = audit
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { by: string }).by);
  expect(by).toEqual(['clerk', 'root', 'admin'].map((name) => `admin API, ${name}, 127.0.0.1`));
  for (const token of Object.values(tokens)) expect(audit).not.toContain(token);
});

it('tokens without ADMIN_TOKEN open the admin API', async () => {
  await open({ ADMIN_TOKEN: '' });
  expect((await send(tokens.viewer)).status).toBe(200);
  expect((await send(tokens.admin)).status).toBe(401);
});

describe('wrong tokens', () => {
  it('and missing ones are counted, and after 10 in 60 s the address gets 429 for them', async () => {
    const clock = shiftClock({ isRunning: true });
    await open();
    expect((await send(undefined)).status).toBe(401);
    for (let count = 0; count < 9; count++) expect((await send(`wrong-token-${count}`)).status).toBe(401);
    const message = 'too many requests without a valid token from this address';
    for (const token of ['another-wrong-token', '', undefined]) {
      const { status, headers, body } = await send(token);
      expect([status, body]).toEqual([429, { error: { message } }]);
      const retryAfterS = Number(headers.get('retry-after'));
      expect(retryAfterS).toBeGreaterThan(30);
      expect(retryAfterS).toBeLessThanOrEqual(60);
    }
    const counts = await Promise.all(['missing-token', 'wrong-token', 'too-many-wrong-tokens'].map(rejections));
    expect(counts).toEqual([1, 9, 3]);
    clock.forward(60_001);
    expect((await send('another-wrong-token')).status).toBe(401);
  });

  it('do not lock out a valid token from the same address', async () => {
    await open();
    while ((await send('wrong-token-of-a-script')).status !== 429);
    for (const token of Object.values(tokens)) expect((await send(token)).status).toBe(200);
    expect((await send('wrong-token-of-a-script')).status).toBe(429);
  });

  it('without a token alone are limited too', async () => {
    await open();
    for (let count = 0; count < 10; count++) expect((await send(undefined)).status).toBe(401);
    expect((await send(undefined)).status).toBe(429);
  });

  it('of other addresses do not count', async () => {
    await open({ TRUSTED_PROXIES: '127.0.0.1' });
    for (let count = 0; count < 12; count++)
      await send('wrong-token-of-some', 'GET', '/admin/keys', undefined, '192.0.2.1');
    // The addresses of a /64 network count together.
    for (let count = 0; count < 12; count++)
      await send('wrong-token-of-some', 'GET', '/admin/keys', undefined, `2001:db8::${count}`);
    const statusFrom = async (from: string) => (await send(undefined, 'GET', '/admin/keys', undefined, from)).status;
    expect(await statusFrom('192.0.2.1')).toBe(429);
    expect(await statusFrom('2001:db8::99')).toBe(429);
    expect(await statusFrom('192.0.2.2')).toBe(401);
    expect(await statusFrom('2001:db8:0:1::1')).toBe(401);
  });
});

describe('ADMIN_TOKENS', () => {
  const good = `ci:read:${tokens.viewer}`;

  it.each([
    ['ci', 'item 1: expected name:role:token'],
    ['ci:read', 'item 1: expected name:role:token'],
    [`${good},`, 'item 2: expected name:role:token'],
    [`${good}:more`, 'item 1: expected name:role:token'],
    [`:read:${tokens.clerk}`, 'item 1: expected a name of 1 to 40 letters, digits and ._-, other than admin'],
    [`admin:read:${tokens.clerk}`, 'item 1: expected a name of 1 to 40 letters, digits and ._-, other than admin'],
    [`${good},b:write:${tokens.clerk}`, 'item 2: expected a role of read, keys, all'],
    [`${good},b:keys:short`, 'item 2: expected a token of 16 characters or more, as ADMIN_TOKEN'],
    [`${good},ci:all:${tokens.clerk}`, 'two items have the same name or token'],
    [`${good},b:all:${tokens.viewer}`, 'two items have the same name or token'],
  ])('%j is invalid', (ADMIN_TOKENS, message) => {
    expect(() => readSettings({ OPS_PORT: '1', ADMIN_TOKENS })).toThrow(
      new SettingsError([`ADMIN_TOKENS: ${message}`]),
    );
  });

  it('cannot have the value of ADMIN_TOKEN, because a request would have both roles', () => {
    const env = { OPS_PORT: '1', ADMIN_TOKEN: tokens.viewer, ADMIN_TOKENS: `b:keys:${tokens.clerk},${good}` };
    expect(() => readSettings(env)).toThrow(
      new SettingsError(['ADMIN_TOKENS: an item has the value of ADMIN_TOKEN, which has the role all']),
    );
  });
});
