import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { readAuth } from '../../gateway/auth/tokens/read-auth.ts';
import { openKeys } from '../support/open-keys.ts';
import { makeAuth } from './auth-setup.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const token = 'a-token-of-sixteen-characters';

let gateway: TestGateway;
let log: string;
beforeEach(async () => {
  log = '';
  const lines = pino({ base: null }, { write: (line: string) => void (log += line) });
  const env = { OPS_PORT: '0', ADMIN_TOKEN: token };
  gateway = await startGateway({ test: network(5, ['http://127.0.0.1:9']), auth: free(['net']) }, env, lines);
});
afterEach(() => gateway.stop());

/** An auth.yaml with the plan `free`, without an issuer of tokens. */
function free(methods: readonly string[], more: object = {}): object {
  return { plans: { free: { methods, daily: 10, ...more } } };
}

async function addKey(permissions: Record<string, string>): Promise<string> {
  const key = makeKey();
  await gateway.gateway.keys.add(digestOf(key), { name: 'test', createdAt: '', permissions });
  return key;
}

/** The status of a call of `eth_chainId`, which Gatehouse answers itself. */
async function statusOf(key: string): Promise<number> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
  return (await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body })).status;
}

async function savePlans(auth: object | undefined): Promise<void> {
  gateway.save({ auth });
  await gateway.gateway.reload();
}

async function admin(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort}/admin${path}`, {
    ...{ method, headers: { authorization: `Bearer ${token}` } },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

it('a key has the permissions of its plan, which its own replace, and follows a change of the plan', async () => {
  const [planned, own] = [await addKey({ plan: 'free' }), await addKey({ plan: 'free', methods: 'eth' })];
  expect([await statusOf(planned), await statusOf(own)]).toEqual([403, 200]);
  await savePlans(free(['eth']));
  expect([await statusOf(planned), await statusOf(own)]).toEqual([200, 200]);
  await savePlans(free(['eth'], { origins: ['https://app.example.org'] }));
  expect([await statusOf(planned), await statusOf(own)]).toEqual([403, 403]);
});

it('the limits of a plan count for each of its keys', async () => {
  await savePlans(free(['eth'], { daily: 1 }));
  const [first, second] = [await addKey({ plan: 'free' }), await addKey({ plan: 'free' })];
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}';
  const send = async (key: string): Promise<number> =>
    (await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body })).status;
  expect([await send(first), await send(first), await send(second)]).toEqual([503, 429, 503]);
  expect(await admin('GET', `/keys/${keyIdOf(digestOf(first))}`)).toMatchObject({
    state: 'active',
    quotas: [{ used: 1, size: 1 }],
  });
});

it('keys whose plan is removed are rejected and named in the log, until the plan is back', async () => {
  const key = await addKey({ plan: 'free' });
  await savePlans(undefined);
  expect(await statusOf(key)).toBe(401);
  const id = keyIdOf(digestOf(key));
  await eventually(() => log.includes('"msg":"keys rejected: their plan is not in auth.yaml, or has a team"'));
  expect(log).toContain(`"plans":["free"],"keys":["${id}"],"count":1`);
  expect(await admin('GET', `/keys/${id}`)).toMatchObject({
    state: 'invalid',
    mistakes: ['plan: expected the name of a plan in auth.yaml (it has none)'],
  });
  await savePlans(free(['eth']));
  expect(await statusOf(key)).toBe(200);
});

it('a plan with a team is for tokens: a key with it is rejected, named in the log, and not created', async () => {
  const key = await addKey({ plan: 'free' });
  await savePlans(free(['eth'], { team: 'acme' }));
  expect(await statusOf(key)).toBe(401);
  await eventually(() => log.includes(`"plans":["free"],"keys":["${keyIdOf(digestOf(key))}"],"count":1`));
  const message = 'plan: expected a plan without team, which only tokens may have: write the team at the key';
  expect(await admin('GET', `/keys/${keyIdOf(digestOf(key))}`)).toMatchObject({
    state: 'invalid',
    mistakes: [message],
  });
  expect(await admin('POST', '/keys', { name: 'a', permissions: { plan: 'free' } })).toEqual({
    status: 400,
    error: { field: 'permissions.plan', message },
  });
});

it('the admin API lists and accepts the plans of auth.yaml only, and a field that the plan completes', async () => {
  expect(await admin('GET', '/choices')).toMatchObject({ plans: ['free'] });
  expect(await admin('POST', '/keys', { name: 'a', permissions: { plan: 'gold' } })).toEqual({
    status: 400,
    error: {
      field: 'permissions.plan',
      message: 'plan: expected the name of a plan in auth.yaml (free)',
    },
  });
  const burst = { name: 'a', permissions: { plan: 'free', burst: 5 } };
  expect(await admin('POST', '/keys', burst)).toMatchObject({ status: 400 });
  await savePlans(free(['eth'], { rate: 2 }));
  expect(await admin('POST', '/keys', burst)).toMatchObject({ status: 201 });
});

it('a change of plans while the key store is unavailable is logged: cached keys keep the former ones', () => {
  let warnings = '';
  const lines = pino({ base: null }, { write: (line: string) => void (warnings += line) });
  const { authenticator } = makeAuth(openKeys({ REDIS_URL: 'redis://127.0.0.1:1' }), { log: lines });
  authenticator.configure({ ...readAuth({ files: [] }), plans: { free: { rate: '1' } } });
  expect(warnings).toContain('"msg":"plans changed: cached keys keep the former ones until Redis is available');
});
