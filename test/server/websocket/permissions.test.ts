import { expect, it } from 'vitest';
import { KeyManager } from '../../../gateway/auth/manage/manage-keys.ts';
import { limited, storage, type Limited } from '../../limits/limited.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { noPlans } from '../../support/no-plans.ts';

const open = (one: Limited, headers: Record<string, string> = {}): Promise<Caller> =>
  openCaller(socketUrl(one.gateway, 'test'), { headers });
const call = (caller: Caller): Promise<unknown> => caller.call(...storage);
const rejected = { error: { code: -32005, message: 'project ID request rate exceeded' } };

it('messages count against the same limits as HTTP, and a batch is rejected as a whole', async () => {
  const one = await limited();
  await one.setPermissions({ rate: '0.01', burst: '3' });
  const caller = await open(one);
  expect(await call(caller)).toMatchObject({ result: expect.any(String) as string });
  expect((await one.send(storage)).status).toBe(200);
  expect(await call(caller)).toMatchObject({ result: expect.any(String) as string });
  const [method, params] = storage;
  caller.send(JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method, params }))));
  expect(JSON.parse(await caller.next())).toMatchObject([
    { id: 1, ...rejected },
    { id: 2, ...rejected },
  ]);
  expect(await call(caller)).toMatchObject(rejected);
  expect(await caller.call('eth_chainId')).toMatchObject(rejected);
  expect(one.reached()).toBe(3);
});

it('changed permissions apply to open sockets', async () => {
  const one = await limited();
  const caller = await open(one);
  await one.setPermissions({ methods: 'net' });
  await expect.poll(() => call(caller)).toMatchObject({ error: { code: -32002 } });
  await one.setPermissions({ methods: undefined });
  await expect.poll(() => call(caller)).toHaveProperty('result');
  await one.setPermissions({ origins: 'app.example.org' });
  expect(await caller.closed).toEqual({ code: 1008, reason: 'rejected due to project ID settings' });
});

it('a caller without permission is rejected before the upgrade', async () => {
  const one = await limited();
  await one.setPermissions({ origins: 'app.example.org' });
  await expect(open(one)).rejects.toThrow('403');
  const caller = await open(one, { origin: 'https://app.example.org' });
  expect(await call(caller)).toHaveProperty('result');
  await one.setPermissions({ origins: undefined, secrets: 'ab'.repeat(32) });
  expect(await caller.closed).toEqual({ code: 1008, reason: 'invalid project id or project secret' });
  await expect(open(one)).rejects.toThrow('401');
});

it('a key may have fewer sockets than others, or more', async () => {
  const one = await limited({ socketsPerKey: '3' });
  await one.setPermissions({ sockets: '2' });
  const [first] = [await open(one), await open(one)];
  await expect(open(one)).rejects.toThrow('429');
  first.socket.terminate();
  await expect.poll(() => open(one).catch(() => undefined)).toBeDefined();
  await one.setPermissions({ sockets: '4' });
  await Promise.all([open(one), open(one)]);
  await expect(open(one)).rejects.toThrow('429');
});

it('a key and its successor by rotation share the limits of sockets and subscriptions', async () => {
  const one = await limited({ socketsPerKey: '3' });
  await one.setPermissions({ subscriptions: '2' });
  const { key } = await new KeyManager(one.gateway.gateway.keys, noPlans).rotate(one.id, 60_000);
  const second = socketUrl(one.gateway, 'test', key);
  const callers = [await open(one), await openCaller(second), await openCaller(second)];
  await expect(openCaller(second)).rejects.toThrow('429');
  await expect(open(one)).rejects.toThrow('429');
  const subscribe = (at: number): Promise<unknown> | undefined => callers[at]?.call('eth_subscribe', ['syncing']);
  const first = (await subscribe(0)) as { result: string };
  expect(first).toHaveProperty('result');
  await callers[0]?.next();
  expect(await subscribe(1)).toHaveProperty('result');
  expect(await subscribe(2)).toMatchObject({ error: { code: -32005 } });
  expect(await callers[0]?.call('eth_unsubscribe', [first.result])).toMatchObject({ result: true });
  expect(await subscribe(2)).toHaveProperty('result');
  callers[0]?.socket.terminate();
  await expect.poll(() => openCaller(second).catch(() => undefined)).toBeDefined();
});

it('the sockets of a key are closed after it expires', async () => {
  const one = await limited();
  const expiresAt = Date.now() + 2_000;
  await one.setPermissions({ expiresAt: new Date(expiresAt).toISOString() });
  const caller = await open(one);
  expect(await caller.closed).toEqual({ code: 1008, reason: 'invalid project id' });
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
});
