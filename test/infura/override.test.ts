import { expect, it } from 'vitest';
import { limited, type Limited, type Sent } from '../limits/limited.ts';
import { digestOf, makeSecret } from '../../gateway/auth/formats/key.ts';
import { runKeys, type KeysRun } from '../auth/run-keys.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';

const secret = makeSecret();
const basic = (password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`:${password}`).toString('base64')}`,
});
const address = (digits: string): string => `0x${digits.repeat(20)}`;
const storageOf = (contract: string) => ['eth_getStorageAt', [contract, '0x0', 'latest']] as const;
const settings = { status: 403, body: { error: { code: -32002, message: 'rejected due to project ID settings' } } };
/** Each allow-list, and a request that it rejects. */
const lists = [
  ['methods', 'eth_chainId', storageOf(address('ab'))],
  ['contracts', address('cd'), storageOf(address('ab'))],
  ['origins', 'app.example.org', storageOf(address('ab'))],
  ['userAgents', 'Firefox', storageOf(address('ab'))],
  ['ips', '192.0.2.7', storageOf(address('ab'))],
] as const;

const own = { secrets: digestOf(secret), overrideAllowlists: 'on' };

async function expectStatus(one: Limited, sent: Parameters<Limited['send']>, status: number): Promise<Sent> {
  const got = await one.send(...sent);
  expect(got).toMatchObject({ status });
  return got;
}

it.each(lists)(
  'the secret lifts %s where the key allows it; without the secret the list holds',
  async (list, text, call) => {
    const one = await limited();
    await one.setPermissions({ ...own, [list]: text });
    expect(await one.send(call)).toMatchObject(settings);
    await expectStatus(one, [call, basic(secret)], 200);
    expect((await expectStatus(one, [call, basic('wrong')], 401)).body).toMatchObject({
      error: { message: 'invalid project id or project secret' },
    });
    await one.setPermissions({ overrideAllowlists: undefined });
    expect(await one.send(call, basic(secret))).toMatchObject(settings);
  },
);

it('other limits of the key hold with the secret too', async () => {
  const one = await limited();
  const call = storageOf(address('ab'));
  await one.setPermissions({ ...own, networks: 'other' });
  expect(await one.send(call, basic(secret))).toMatchObject(settings);
  await one.setPermissions({ networks: undefined, daily: '1' });
  await expectStatus(one, [call, basic(secret)], 200);
  await expectStatus(one, [call, basic(secret)], 429);
  await expectStatus(one, [call], 429);
});

it('over WebSocket the secret of the upgrade lifts the lists of its socket only; a new secret closes it', async () => {
  const one = await limited();
  await one.setPermissions({ ...own, methods: 'eth_chainId' });
  const [method, params] = storageOf(address('ab'));
  const [plain, lifted] = [
    await openCaller(socketUrl(one.gateway, 'test')),
    await openCaller(socketUrl(one.gateway, 'test'), { headers: basic(secret) }),
  ];
  // Other permissions change meanwhile: each socket keeps its own.
  for (const rate of [undefined, '1000']) {
    if (rate !== undefined) await one.setPermissions({ rate });
    expect(await plain.call(method, params)).toMatchObject({ error: settings.body.error });
    expect(await lifted.call(method, params)).toHaveProperty('result');
  }
  await one.setPermissions({ secrets: digestOf(makeSecret()) });
  expect(await lifted.closed).toMatchObject({ code: 1008 });
  expect(await plain.call('eth_chainId')).toHaveProperty('result');
});

it('a key without a secret cannot have it', async () => {
  const one = await limited();
  const keys = (...args: string[]): Promise<KeysRun> => runKeys({ DATA_DIR: one.gateway.dataDir }, args);
  const rejected = { exitCode: 1, err: expect.stringContaining('overrideAllowlists: requires secrets') as string };
  expect(await keys('update', one.id, '--override-allowlists')).toMatchObject(rejected);
  expect(await keys('update', one.id, '--override-allowlists', '--secret')).toMatchObject({ exitCode: 0 });
  expect(await keys('update', one.id, '--no-secret')).toMatchObject(rejected);
  expect(await keys('update', one.id, '--no-secret', '--no-override-allowlists')).toMatchObject({ exitCode: 0 });
});
