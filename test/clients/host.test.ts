import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { runKeys } from '../auth/run-keys.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { hostClients, ResponseError, type HostSettings } from './host-client.ts';
import { account } from './world.ts';

const other = `0x${'ab'.repeat(20)}`;
const kid = '42f5184e315e40d4b79325778691093a';
let folder: string;
let anvil: Anvil;
let gateway: TestGateway;
let privateKey: ReturnType<typeof generateKeyPairSync>['privateKey'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-host-'));
  anvil = await startAnvil();
  // Paths as at Infura, without the name of the network: its host stands for it.
  const mainnet = network(1337, [anvil.url], { baseUrls: ['http://127.0.0.1'], errors: 'infura' });
  gateway = await startGateway({ mainnet }, { UNITS_FILE: 'infura' });
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  ({ privateKey } = pair);
  writeFileSync(join(folder, 'public.pem'), pair.publicKey.export({ format: 'pem', type: 'spki' }));
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
  rmSync(folder, { recursive: true });
});

async function keys(args: readonly string[], input = ''): Promise<{ id: string }> {
  const { out, err, exitCode } = await runKeys({ DATA_DIR: gateway.dataDir }, [...args, '--json'], input);
  expect([exitCode, err.replace(/^warning: the (key has no rate limit|rate 0.001 is below).*\n/, '')]).toEqual([0, '']);
  return JSON.parse(out) as { id: string };
}

/** Moves a key of Infura to the gateway, with its secret. */
async function move(flags: readonly string[] = [], secret?: string): Promise<HostSettings & { readonly id: string }> {
  const key = makeKey();
  const options = ['create', '--name', 'dapp', '--key-stdin', ...(secret === undefined ? [] : ['--secret']), ...flags];
  const { id } = await keys(options, `${key} ${secret ?? ''}`);
  return { host: gateway.address, key, id };
}

function tokenWith(claims: object): Promise<string> {
  return new SignJWT({ aud: 'infura.io', ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid })
    .setExpirationTime('1h')
    .sign(privateKey);
}

/** All texts and numbers of an error: each library has the response in another place. */
function partsOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null) return [String(error)];
  if (depth > 6) return [];
  const own = Object.getOwnPropertyNames(error).map((name) => (error as Record<string, unknown>)[name]);
  return own.flatMap((value) => partsOf(value, depth + 1));
}

describe.each(hostClients)('written for Infura, $name', ({ name, balance, watch }) => {
  const rejection = async (settings: HostSettings, address = account): Promise<string[]> =>
    balance(settings, address).then(
      () => ['no error'],
      (error: unknown) => partsOf(error),
    );
  const expectRejected = async (settings: HostSettings, text: RegExp, address = account): Promise<void> => {
    expect((await rejection(settings, address)).join('\n')).toMatch(text);
  };
  const own = 10n ** 22n;

  it('reads with the key in the path', async () => {
    const moved = await move();
    expect(await balance(moved, account)).toBeGreaterThan(own - 10n ** 20n);
    await expectRejected({ ...moved, key: 'f'.repeat(32) }, /invalid project id/);
  });

  it('sends the secret that its key requires', async () => {
    const moved = await move([], 'b'.repeat(32));
    await expectRejected(moved, /invalid project id or project secret/);
    expect(await balance({ ...moved, secret: 'b'.repeat(32) }, other)).toBe(0n);
    await expectRejected({ ...moved, secret: 'c'.repeat(32) }, /invalid project id or project secret/);
  });

  it('is bounded by allow-lists: addresses, origins, user agents, methods; the secret overrides them', async () => {
    const forbidden = /rejected due to project ID settings/;
    const secret = 'd'.repeat(32);
    const lists = ['--contracts', account, '--origins', 'app.example.org', '--user-agents', 'MetaMask'];
    const moved = await move([...lists, '--methods', 'eth_getBalance', '--override-allowlists'], secret);
    const page = { ...moved, origin: 'https://app.example.org', userAgent: 'MetaMask 13' };
    expect(await balance(page, account)).toBeGreaterThan(0n);
    await expectRejected(page, forbidden, other);
    await expectRejected({ ...page, origin: 'https://evil.example' }, forbidden);
    await expectRejected({ ...page, userAgent: 'curl' }, forbidden);
    expect(await balance({ ...moved, secret }, other)).toBe(0n);
  });

  it('sends a token, which has allow-lists of its own', async () => {
    const moved = await move();
    await keys(['tokens', 'add', moved.id, join(folder, 'public.pem'), '--name', 'ci', '--kid', kid]);
    await keys(['update', moved.id, '--require-token']);
    await eventually(async () => (await rejection(moved)).join().includes('invalid token'));
    const token = await tokenWith({ methods: ['eth_getBalance'], addresses: [account] });
    expect(await balance({ ...moved, token }, account)).toBeGreaterThan(0n);
    await expectRejected({ ...moved, token }, /rejected due to project ID settings/, other);
    await expectRejected({ ...moved, token: await tokenWith({ methods: ['eth_call'] }) }, /project ID settings/);
  });

  it.each([
    [
      'the rate of the account',
      ['--team', `${name.slice(0, 4)}-rate`, '--rate', '0.001', '--burst', '80'],
      429,
      -33200,
    ],
    ['the rate of the key', ['--rate', '0.001', '--burst', '80'], 429, -33300],
    ['the day of the account', ['--team', `${name.slice(0, 4)}-day`, '--daily', '80'], 402, -33000],
    ['the day of the key', ['--daily', '80'], 429, -33400],
  ])('gets the error of %s', async (_, flags, code, event) => {
    const moved = await move(flags);
    expect(await balance(moved, other)).toBe(0n);
    const message = code === 402 ? 'Payment Required' : 'Too Many Requests';
    const error: unknown = await balance(moved, other).catch((cause: unknown) => cause);
    if (!(error instanceof ResponseError)) {
      expect(partsOf(error).some((part) => part === String(code) || part.includes(message))).toBe(true);
      return;
    }
    const details = expect.any(String) as string;
    expect(error).toMatchObject({ status: code });
    expect(error.body).toStrictEqual({ jsonrpc: '2.0', id: 1, error: { code, event, message, details } });
  });

  it.each(['with the key', 'with a secret'])('subscribes over WebSocket %s', async (how) => {
    const secret = how === 'with a secret' ? 'e'.repeat(32) : undefined;
    const moved = await move([], secret);
    const seen = new Set<string>();
    const { counter } = anvil.chain;
    const stop = await watch({ ...moved, secret }, counter.address, (what) => void seen.add(what));
    const transaction = { from: account, to: counter.address, data: counter.calls.set };
    await eventually(async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params: [transaction] });
      await fetch(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return seen.size === 2;
    });
    await stop();
  });
});
