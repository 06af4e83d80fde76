import { execFile } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { makeAuth } from '../auth/auth-setup.ts';
import { runKeys, type KeysRun } from '../auth/run-keys.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openKeys } from '../support/open-keys.ts';

const contract = `0x${'ab'.repeat(20)}`;
const balance = ['eth_getBalance', [contract, 'latest']] as const;
const logged: string[] = [];
let folder: string;
let node: FakeNode;
let gateway: TestGateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-key-tokens-'));
  node = await startFakeNode({ chainId: 5, responses: { eth_getBalance: '0x5', acme_getPoints: '0x7' } });
  const log = pino({ level: 'debug' }, { write: (line) => logged.push(line) });
  gateway = await startGateway({ main: network(5, [node.url], { methods: ['eth', 'acme_getPoints'] }) }, {}, log);
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
  rmSync(folder, { recursive: true });
});

/** A pair of RSA takes 0.2 s: all keys share one. */
const rsaPair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const newPair = (kind: 'rsa' | 'ec'): KeyPairKeyObjectResult =>
  kind === 'rsa' ? rsaPair : generateKeyPairSync('ec', { namedCurve: 'P-256' });
const runTokens = (...args: string[]): Promise<KeysRun> => runKeys({ DATA_DIR: gateway.dataDir }, ['tokens', ...args]);

function pemFile(key: KeyObject): string {
  const file = join(folder, `${makeKey()}.pem`);
  writeFileSync(file, key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }));
  return file;
}

interface KeyWithTokens {
  readonly key: string;
  readonly id: string;
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly alg: string;
}

async function newKey(kind: 'rsa' | 'ec' = 'ec', permissions: Record<string, string> = {}): Promise<KeyWithTokens> {
  const key = makeKey();
  await gateway.gateway.keys.add(digestOf(key), { name: 'dapp', createdAt: new Date().toISOString(), permissions });
  const id = keyIdOf(digestOf(key));
  const { publicKey, privateKey } = newPair(kind);
  const { out, err } = await runTokens('add', id, pemFile(publicKey), '--name', 'ci', '--json');
  expect(err).toBe('');
  const { kid } = JSON.parse(out) as { kid: string };
  return { key, id, kid, privateKey, alg: kind === 'rsa' ? 'RS256' : 'ES256' };
}

interface Signed {
  readonly header?: object;
  readonly claims?: object;
  readonly exp?: string | number;
}

/** A token as Infura's document "Use JSON Web Token" has it: no issuer, no subject. */
function sign(
  { kid, privateKey, alg }: KeyWithTokens,
  { header, claims = {}, exp = '1h' }: Signed = {},
): Promise<string> {
  return new SignJWT({ aud: 'infura.io', ...claims })
    .setProtectedHeader({ alg, typ: 'JWT', kid, ...header })
    .setExpirationTime(exp)
    .sign(privateKey);
}

interface Sent {
  readonly status: number;
  readonly message?: string | undefined;
}

async function send(
  key: string,
  token: string | undefined,
  [method, params]: readonly [string, readonly unknown[]] = balance,
  headers: Record<string, string> = {},
): Promise<Sent> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const url = `${gateway.address}/main/v3/${key}`;
  const response = await fetch(url, { method: 'POST', body, headers: { ...authorization, ...headers } });
  const { error } = (await response.json()) as { error?: { message: string } };
  return { status: response.status, ...(error && { message: error.message }) };
}

const forbidden = { status: 403, message: 'rejected due to project ID settings' };
const rejected = (why: string): Sent => ({ status: 401, message: `invalid token: ${why}` });

describe.each(['rsa', 'ec'] as const)('a token that an %s key signed', (kind) => {
  it('is accepted beside its key; without it, the key is as before', async () => {
    const one = await newKey(kind);
    expect(await send(one.key, await sign(one))).toEqual({ status: 200 });
    expect(await send(one.key, undefined)).toEqual({ status: 200 });
  });

  it('narrows the key by methods, addresses, origins and user agents: AND between them, OR in each', async () => {
    const one = await newKey(kind);
    const token = await sign(one, {
      claims: {
        methods: ['eth_getBalance', 'eth_getCode'],
        addresses: [contract],
        origins: ['app.example.org', 'other.example.org'],
        user_agents: ['Firefox'],
      },
    });
    const allowed = { origin: 'https://app.example.org', 'user-agent': 'Mozilla Firefox' };
    expect(await send(one.key, token, balance, allowed)).toEqual({ status: 200 });
    expect(await send(one.key, token, balance, { ...allowed, origin: 'https://evil.example' })).toEqual(forbidden);
    expect(await send(one.key, token, balance, { ...allowed, 'user-agent': 'curl' })).toEqual(forbidden);
    expect(await send(one.key, token, ['eth_chainId', []], allowed)).toEqual(forbidden);
    expect(await send(one.key, token, ['eth_getBalance', [`0x${'cd'.repeat(20)}`, 'latest']], allowed)).toEqual(
      forbidden,
    );
  });
});

it('a token never widens its key', async () => {
  const one = await newKey('ec', { methods: 'eth_chainId' });
  const token = await sign(one, { claims: { methods: ['eth_getBalance'] } });
  expect(await send(one.key, token)).toEqual(forbidden);
  expect(await send(one.key, token, ['eth_chainId', []])).toEqual(forbidden);
});

it('a token with addresses permits a pass-through method that the methods of its key or of the token name', async () => {
  const points = ['acme_getPoints', [contract]] as const;
  const named = await newKey('ec', { methods: 'acme_getPoints,eth' });
  expect(await send(named.key, await sign(named, { claims: { addresses: [contract] } }), points)).toEqual({
    status: 200,
  });
  const one = await newKey();
  expect(await send(one.key, await sign(one, { claims: { addresses: [contract] } }), points)).toEqual(forbidden);
  const claims = { addresses: [contract], methods: ['acme_getPoints'] };
  expect(await send(one.key, await sign(one, { claims }), points)).toEqual({ status: 200 });
});

it('the registered claims of RFC 7519 are accepted', async () => {
  const one = await newKey();
  const claims = { iss: 'backend', sub: 'user-17', jti: '1', iat: 0, nbf: 0 };
  expect(await send(one.key, await sign(one, { claims }))).toEqual({ status: 200 });
});

it('ethers and viem send it with the header that Infura documents', async () => {
  const one = await newKey();
  const url = `${gateway.address}/main/v3/${one.key}`;
  const authorization = `Bearer ${await sign(one)}`;
  const request = new FetchRequest(url);
  request.setHeader('authorization', authorization);
  const provider = new JsonRpcProvider(request, 5, { staticNetwork: true });
  expect(await provider.getBalance(contract)).toBe(5n);
  provider.destroy();
  const client = createPublicClient({ transport: http(url, { fetchOptions: { headers: { authorization } } }) });
  expect(await client.getBalance({ address: contract as `0x${string}` })).toBe(5n);
});

it('a key may require a token', async () => {
  const one = await newKey();
  expect((await runKeys({ DATA_DIR: gateway.dataDir }, ['update', one.id, '--require-token'])).exitCode).toBe(0);
  await eventually(async () => (await send(one.key, undefined)).status === 401);
  expect(await send(one.key, undefined)).toEqual(rejected('this project id requires one in Authorization: Bearer'));
  expect(await send(one.key, await sign(one))).toEqual({ status: 200 });
  await runKeys({ DATA_DIR: gateway.dataDir }, ['update', one.id, '--no-require-token']);
  await eventually(async () => (await send(one.key, undefined)).status === 200);
});

it('the last public key of a key that requires a token can be removed: then each request is rejected, and a warning says so', async () => {
  const one = await newKey('ec', { requireToken: 'on' });
  const token = await sign(one);
  expect(await send(one.key, token)).toEqual({ status: 200 });
  const warning = `warning: each request is rejected until the key ${one.id} has a public key: gatehouse keys tokens add\n`;
  expect(await runTokens('remove', one.id, one.kid)).toMatchObject({ exitCode: 0, err: warning });
  await eventually(async () => (await send(one.key, token)).status === 401);
  expect(await send(one.key, token)).toEqual(rejected('its kid is not known for this project id'));
  expect((await send(one.key, undefined)).status).toBe(401);
  const run = await runKeys({ DATA_DIR: gateway.dataDir }, ['update', one.id, '--require-token']);
  expect(run).toMatchObject({ exitCode: 0, err: warning });
});

it('the public keys of a key are listed and removed; the tokens of a removed one are rejected', async () => {
  const one = await newKey();
  const token = await sign(one);
  expect(await send(one.key, token)).toEqual({ status: 200 });
  const listed = await runTokens('list', one.id, '--json');
  expect(JSON.parse(listed.out)).toEqual([{ kid: one.kid, name: 'ci', algorithm: 'ES256' }]);
  expect((await runTokens('list', one.id)).out).toContain(`${one.kid}  ci    ES256`);
  const { out } = await runTokens('add', one.id, pemFile(newPair('ec').publicKey), '--name', 'next', '--json');
  const next = JSON.parse(out) as { kid: string };
  expect(await runTokens('remove', one.id, one.kid)).toMatchObject({ exitCode: 0 });
  await eventually(async () => (await send(one.key, token)).status === 401);
  expect(await send(one.key, token)).toEqual(rejected('its kid is not known for this project id'));
  // Without any public key, too: the token would otherwise get the whole key.
  expect(await runTokens('remove', one.id, next.kid)).toMatchObject({ exitCode: 0 });
  expect((await runTokens('list', one.id, '--json')).out).toBe('[]\n');
  await eventually(async () => (await gateway.gateway.keys.show(one.id))?.permissions?.['tokenKeys'] === '');
  expect(await send(one.key, token)).toEqual(rejected('its kid is not known for this project id'));
  expect(await send(one.key, undefined)).toEqual({ status: 200 });
});

it('a public key may keep the kid that its tokens have at another service', async () => {
  const one = await newKey();
  const { publicKey, privateKey } = newPair('rsa');
  const kid = '42f5184e315e40d4b79325778691093a';
  const add = (given: string): Promise<KeysRun> =>
    runTokens('add', one.id, pemFile(publicKey), '--name', 'moved', '--kid', given);
  expect((await add('ci')).err).toBe('--kid: expected 32 hexadecimal digits, in lower case\n');
  expect((await add(kid)).err).toBe('');
  const token = await sign({ ...one, kid, privateKey, alg: 'RS256' });
  await eventually(async () => (await send(one.key, token)).status === 200);
  expect((await add(kid)).err).toBe(`This public key is registered already, as ${kid}: nothing to do\n`);
  const next = ['add', one.id, pemFile(newPair('ec').publicKey), '--name', 'next', '--kid', kid];
  expect((await runTokens(...next)).err).toBe(
    `Another public key has the kid ${kid}: remove it first, with keys tokens remove\n`,
  );
  const unregistered = await sign({ ...one, kid: 'f'.repeat(32), privateKey, alg: 'RS256' });
  expect(await send(one.key, unregistered)).toEqual(rejected('its kid is not known for this project id'));
});

it('public keys that are registered at the same moment are all registered, and one that is removed meanwhile is removed', async () => {
  const one = await newKey();
  const add = (): Promise<KeysRun> =>
    runTokens('add', one.id, pemFile(newPair('ec').publicKey), '--name', 'ci', '--json');
  const runs = await Promise.all([add(), runTokens('remove', one.id, one.kid), add()]);
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  const kids = [runs[0], runs[2]].map(({ out }) => (JSON.parse(out) as { kid: string }).kid);
  const listed = JSON.parse((await runTokens('list', one.id, '--json')).out) as { kid: string }[];
  expect(listed.map(({ kid }) => kid).sort()).toEqual(kids.sort());
});

describe('each of these has its own sentence:', () => {
  it.each<[string, Signed, string]>([
    ['an unknown kid', { header: { kid: 'ci' } }, 'its kid is not known for this project id'],
    ['a token without kid', { header: { kid: undefined } }, 'its kid is not known for this project id'],
    [
      'a misspelt claim',
      { claims: { user_agent: ['Firefox'] } },
      'its claim user_agent is not known; did you mean user_agents?',
    ],
    ['a claim of another name', { claims: { 'https://x.example/é': 1 } }, 'it has a claim that is not known'],
    ['another audience', { claims: { aud: 'other.io' } }, 'its claim aud is not valid here'],
    ['an expired token', { exp: Math.floor(Date.now() / 1000) - 60 }, 'it has expired'],
    ['a claim that is no list', { claims: { methods: 'eth' } }, 'its claim methods must be a list of texts'],
    [
      'a claim with an empty list',
      { claims: { origins: [] } },
      'its claim origins must have 1 to 30 entries, each as in the permission origins of a key',
    ],
    [
      'a claim with a wrong entry',
      { claims: { addresses: ['0x1'] } },
      'its claim addresses must have 1 to 30 entries, each as in the permission contracts of a key',
    ],
  ])('%s', async (_, signed, why) => {
    const one = await newKey();
    expect(await send(one.key, await sign(one, signed))).toEqual(rejected(why));
  });

  it('a token for another key, an alg of another family, another signer, no expiry, no token', async () => {
    const [one, other] = [await newKey(), await newKey('rsa')];
    expect(await send(one.key, await sign(other))).toEqual(rejected('its kid is not known for this project id'));
    const rsa = await sign({ ...other, kid: one.kid });
    expect(await send(one.key, rsa)).toEqual(rejected('its alg must be ES256, which is that of its public key'));
    const forged = await sign({ ...one, privateKey: newPair('ec').privateKey });
    expect(await send(one.key, forged)).toEqual(rejected('its signature is not valid'));
    const endless = await new SignJWT({ aud: 'infura.io' })
      .setProtectedHeader({ alg: 'ES256', kid: one.kid })
      .sign(one.privateKey);
    expect(await send(one.key, endless)).toEqual(rejected('its claim exp is missing'));
    expect(await send(one.key, 'no-token')).toEqual(rejected('it has not the form of a JSON Web Token'));
    const unsigned = `${Buffer.from(JSON.stringify({ alg: 'none', kid: one.kid })).toString('base64url')}.e30.c2ln`;
    expect(await send(one.key, unsigned)).toEqual(rejected('its alg must be ES256, which is that of its public key'));
  });

  it('a fourth public key, the same one again, a private key, a small key, another curve, no PEM, no file', async () => {
    const { id } = await newKey();
    const add = async (key: KeyObject | string): Promise<string> =>
      (await runTokens('add', id, typeof key === 'string' ? key : pemFile(key), '--name', 'ci')).err;
    const { publicKey, privateKey } = newPair('ec');
    expect(await add(privateKey)).toMatch(/^This is a private key: register its public key: openssl pkey /);
    expect(await add(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)).toMatch(
      /^Tokens cannot be signed with this key/,
    );
    expect(await add(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)).toMatch(
      /^Tokens cannot be signed with this key/,
    );
    writeFileSync(join(folder, 'text.pem'), 'no PEM');
    expect(await add(join(folder, 'text.pem'))).toMatch(/^This is no public key/);
    expect(await add(join(folder, 'missing.pem'))).toMatch(/the file cannot be read \(ENOENT\)/);
    expect(await add(publicKey)).toBe('');
    expect(await add(publicKey)).toMatch(/^This public key is registered already, as /);
    expect(await add(newPair('rsa').publicKey)).toBe('');
    expect(await add(newPair('ec').publicKey)).toMatch(/has three public keys: remove one of them/);
  });
});

describe('over WebSocket', () => {
  it('a token narrows its socket only, and the socket is closed when its public key is removed', async () => {
    const one = await newKey();
    const headers = { authorization: `Bearer ${await sign(one, { claims: { methods: ['eth_chainId'] } })}` };
    const narrowed = await openCaller(socketUrl(gateway, 'main', one.key), { headers });
    const plain = await openCaller(socketUrl(gateway, 'main', one.key));
    // Longer than a check of open sockets.
    for (let n = 0; n < 2; n += 1) {
      expect(await narrowed.call(...balance)).toMatchObject({ error: { message: forbidden.message } });
      expect(await narrowed.call('eth_chainId')).toHaveProperty('result');
      expect(await plain.call(...balance)).toHaveProperty('result');
      await gateway.gateway.keys.update(one.id, { rate: '100' });
      await eventually(async () => (await gateway.gateway.keys.show(one.id))?.permissions?.['rate'] === '100');
    }
    await runTokens('remove', one.id, one.kid);
    expect(await narrowed.closed).toEqual({ code: 1008, reason: 'invalid token' });
    expect(await plain.call(...balance)).toHaveProperty('result');
    plain.socket.terminate();
  });

  it('a token is verified again when auth.yaml changes', async () => {
    const one = await newKey();
    const { authenticator } = makeAuth(openKeys({ DATA_DIR: gateway.dataDir }));
    const access = await authenticator.authenticate(one.key, '203.0.113.7');
    const narrowed = await authenticator.withToken(access, await sign(one));
    const confirm = async (): Promise<unknown> => authenticator.confirm(digestOf(one.key), narrowed, 0);
    expect(await confirm()).toHaveProperty('keyToken');
    authenticator.configure({ keyTokens: { keyTokenAudience: 'infura.io', clockToleranceS: 6 }, plans: {} });
    expect(await confirm()).toHaveProperty('keyToken');
    authenticator.configure({ keyTokens: { keyTokenAudience: 'example.org', clockToleranceS: 5 }, plans: {} });
    await expect(confirm()).rejects.toMatchObject({ reason: 'token-invalid' });
  });

  it('a socket without a token is closed when its key requires one', async () => {
    const one = await newKey();
    const plain = await openCaller(socketUrl(gateway, 'main', one.key));
    await gateway.gateway.keys.update(one.id, { requireToken: 'on' });
    expect(await plain.closed).toEqual({ code: 1008, reason: 'invalid token' });
  });
});

it('the admin API registers, lists and removes public keys', async () => {
  const admin = await startGateway({ main: network(5, [node.url]) }, { OPS_PORT: '0', ADMIN_TOKEN: 'a'.repeat(43) });
  const id = keyIdOf(digestOf(admin.key));
  const request = async (method: string, path = '', body?: object): Promise<[number, unknown]> => {
    const url = `http://127.0.0.1:${admin.gateway.opsPort ?? 0}/admin/keys/${id}/tokens${path}`;
    const headers = { authorization: `Bearer ${'a'.repeat(43)}` };
    const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return [response.status, await response.json()];
  };
  const { publicKey, privateKey } = newPair('ec');
  const pem = (key: KeyObject): string =>
    key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString();
  const [status, added] = await request('POST', '', { name: 'ci', publicKey: pem(publicKey) });
  expect(status).toBe(201);
  const { kid } = added as { kid: string };
  expect(await request('GET')).toEqual([200, { tokenKeys: [{ kid, name: 'ci', algorithm: 'ES256' }] }]);
  const rejection = await request('POST', '', { name: 'ci', publicKey: pem(privateKey) });
  expect(rejection).toEqual([400, { error: { message: 'This is a private key: register its public key' } }]);
  expect(await request('DELETE', `/${kid}`)).toEqual([200, { id }]);
  expect(await request('GET')).toEqual([200, { tokenKeys: [] }]);
  expect((await request('DELETE', `/${kid}`))[0]).toBe(404);
  const required = await fetch(`http://127.0.0.1:${admin.gateway.opsPort ?? 0}/admin/keys/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${'a'.repeat(43)}` },
    body: '{"permissions":{"requireToken":"on"}}',
  });
  expect([required.status, await required.text()]).toEqual([
    200,
    expect.stringContaining('has a public key') as string,
  ]);
  expect((await admin.gateway.keys.show(id))?.permissions).toMatchObject({ requireToken: 'on', tokenKeys: '' });
  await admin.stop();
});

it('no page of the ops port and no response of the admin API has the text of a token, key or public key', async () => {
  const admin = await startGateway({ main: network(5, [node.url]) }, { OPS_PORT: '0', ADMIN_TOKEN: 'a'.repeat(43) });
  onTestFinished(() => admin.stop());
  const id = keyIdOf(digestOf(admin.key));
  const { publicKey, privateKey } = newPair('ec');
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const kid = `${id}${'0'.repeat(20)}`;
  await admin.gateway.keys.update(id, { tokenKeys: `${kid}@ci@${spki}` });
  const token = await sign({ key: admin.key, id, kid, privateKey, alg: 'ES256' }, { claims: { aud: 'other' } });
  const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
  const post = (): Promise<Response> => admin.post('main', call, { authorization: `Bearer ${token}` });
  await eventually(async () => (await post()).status === 401);
  const texts = [await (await post()).text()];
  const headers = { authorization: `Bearer ${'a'.repeat(43)}` };
  for (const path of [
    '/admin/calls',
    '/admin/keys',
    `/admin/keys/${id}`,
    `/admin/keys/${id}/tokens`,
    '/',
    '/keys',
    '/metrics',
  ])
    texts.push(await (await fetch(`http://127.0.0.1:${admin.gateway.opsPort ?? 0}${path}`, { headers })).text());
  expect(texts[1]).toContain('token-invalid');
  for (const secret of [token, token.split('.')[1] ?? '?', admin.key, spki])
    expect(texts.join('\n')).not.toContain(secret);
});

it('a rotated key accepts the tokens of the key before', async () => {
  const one = await newKey();
  const { out } = await runKeys({ DATA_DIR: gateway.dataDir }, ['rotate', one.id, '--json']);
  const { key } = JSON.parse(out) as { key: string };
  await eventually(async () => (await send(key, undefined)).status === 200);
  const token = await sign(one);
  expect(await send(key, token)).toEqual({ status: 200 });
  // The key before is valid for the grace period.
  expect(await send(one.key, token)).toEqual({ status: 200 });
  const id = keyIdOf(digestOf(key));
  await runTokens('remove', id, one.kid);
  for (const each of [key, one.key]) await eventually(async () => (await send(each, token)).status === 401);
  const audit = readFileSync(join(gateway.dataDir, 'audit.jsonl'), 'utf8').trim().split('\n');
  const changed = audit.map((line) => JSON.parse(line) as { key: string; detail?: string });
  for (const each of [id, one.id])
    expect(changed.filter(({ key: of, detail }) => of === each && detail === 'tokenKeys').length, each).toBe(
      each === id ? 1 : 2,
    );
});

it('another audience may be configured, and a key without public keys ignores a token', async () => {
  const own = await startGateway({ main: network(5, [node.url]), auth: { keyTokenAudience: 'example.org' } });
  const { privateKey, publicKey } = newPair('ec');
  const id = keyIdOf(digestOf(own.key));
  const post = async (token: string): Promise<number> =>
    (await own.post('main', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}', { authorization: `Bearer ${token}` }))
      .status;
  expect(await post('eyJhbGciOiJFUzI1NiJ9.e30.c2ln')).toBe(200);
  const { out } = await runKeys({ DATA_DIR: own.dataDir }, [
    'tokens',
    'add',
    id,
    pemFile(publicKey),
    '--name',
    'ci',
    '--json',
  ]);
  const { kid } = JSON.parse(out) as { kid: string };
  const tokenFor = (aud: string): Promise<string> =>
    sign({ key: own.key, id, kid, privateKey, alg: 'ES256' }, { claims: { aud } });
  await eventually(async () => (await post(await tokenFor('infura.io'))) === 401);
  expect(await post(await tokenFor('example.org'))).toBe(200);
  await own.stop();
});

it('the program of the docs signs a token that narrows its key', async () => {
  const one = await newKey();
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const texts = pages.map((name) => readFileSync(join('docs', name), 'utf8'));
  const [program] = texts.flatMap((text) => /```js\n(\/\/ sign-token\.mjs[^]*?)```/.exec(text)?.slice(1) ?? []);
  // Below the package, so that it finds jose.
  const programFolder = mkdtempSync(join(import.meta.dirname, 'sign-'));
  onTestFinished(() => {
    rmSync(programFolder, { recursive: true });
  });
  const file = join(programFolder, 'sign-token.mjs');
  writeFileSync(file, program ?? '');
  const { stdout } = await promisify(execFile)(process.execPath, [file, pemFile(one.privateKey), one.kid]);
  const page = { origin: 'https://app.example.org' };
  expect(await send(one.key, stdout.trim(), balance, page)).toEqual({ status: 200 });
  expect(await send(one.key, stdout.trim(), ['eth_chainId', []], page)).toEqual(forbidden);
  expect(await send(one.key, stdout.trim())).toEqual(forbidden);
});

it('no log line has the text of a token or of a public key', async () => {
  const one = await newKey();
  const token = await sign(one);
  const forged = await sign({ ...one, privateKey: newPair('ec').privateKey });
  for (const each of [token, forged]) await send(one.key, each);
  expect(logged.length).toBeGreaterThan(0);
  const record = await gateway.gateway.keys.show(one.id);
  const [, , publicKey = '?'] = record?.permissions?.['tokenKeys']?.split('@') ?? [];
  for (const secret of [token, forged, publicKey, token.split('.')[2] ?? '?'])
    expect(logged.join('')).not.toContain(secret);
});
