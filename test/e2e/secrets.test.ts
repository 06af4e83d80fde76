import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { KEY_FOLDER } from '../../gateway/auth/stores/key-store.ts';
import { eventually } from '../support/eventually.ts';
import { body, cutInBody, cutInHeaders, hang, status, withId } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { openKeys } from '../support/open-keys.ts';
import { freePort } from '../support/redis.ts';
import { CommandFolder, type Served } from '../support/command-folder.ts';

const secret = 'S3cretOfAProvider';
const host = 'node.of-a-provider.invalid';
const unknownKey = makeKey();
const importedKey = '0123456789abcdef0123456789ABCDEF';
const params = [`0x${'ab'.repeat(20)}`, '0x0', 'latest'];

let node: FakeNode;
let deadPort: number;
let place: CommandFolder;
let gateway: Served;
let key: string;
/** A key that also requires a secret. */
let guarded: { id: string; key: string; secret: string };
const wrongSecret = 'wr0ngSecretOfACaller';
const outputs: string[] = [];

/** Texts that must not be shown: keys, and every part of an upstream's address. */
const hidden = (): string[] => [
  ...[key, unknownKey, importedKey, importedKey.toLowerCase(), secret, host],
  ...[guarded.key, guarded.secret, wrongSecret, basic(guarded.secret), basic(wrongSecret)],
  ...[new URL(node.url).host, `:${deadPort}`, Buffer.from(`me:${secret}`).toString('base64')],
];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10 });
  deadPort = await freePort();
  const { host: at } = new URL(node.url);
  const headers = { authorization: `Bearer ${secret}` };
  const upstream = (name: string, url: string) => ({
    name,
    chainId: 10,
    upstreams: [{ name, url, headers, failsafe: { timeoutMs: 300 } }],
  });
  place = new CommandFolder().withNetworks({
    fake: upstream('fake', `http://${at}/v2/${secret}?key=${secret}`),
    basic: { name: 'basic', chainId: 10, upstreams: [{ name: 'basic', url: `http://me:${secret}@${at}/` }] },
    dead: upstream('dead', `http://127.0.0.1:${deadPort}/${secret}`),
    lost: upstream('lost', `https://${host}/${secret}`),
    alien: { ...upstream('alien', `http://${at}/${secret}`), chainId: 11 },
  });
  gateway = await place.serve({ LOG_LEVEL: 'trace', ACCESS_LOG: 'on', HOST: '0.0.0.0', unknownKeysMax: '3' });
  const { stdout } = await place.run(['keys', 'create', '--name', 'alice', '--json']);
  key = (JSON.parse(stdout) as { key: string }).key;
  const made = await place.run(['keys', 'create', '--name', 'guarded', '--secret', '--rate', '1', '--json']);
  guarded = JSON.parse(made.stdout) as typeof guarded;
  await eventually(async () => (await post('basic', guarded.key, basic(guarded.secret))) !== 401);
  await eventually(async () => (await post('basic', key)) !== 401); // a changed key is seen after half a second
}, 120_000);
afterAll(async () => {
  await place.close();
  await node.close();
});

describe('no key and no upstream’s address is shown', () => {
  it('to a caller, when upstreams fail in every way', async () => {
    for (const behaviour of [
      status(503, `<a href="${node.url}/v2/${secret}">busy</a>`),
      status(401, `{"message":"bad key ${secret} at ${node.url}"}`, 'application/json'),
      status(302),
      cutInHeaders,
      cutInBody,
      hang,
      withId(77),
      body(`not JSON, from ${node.url}/v2/${secret}`),
    ]) {
      node.always(behaviour, 'eth_getStorageAt');
      expect(await post('fake', key)).toBe(503);
    }
    node.always(undefined, 'eth_getStorageAt');
    for (const message of [
      `project ${secret} may not do this`,

      `no such method at ${node.url}/v2/${secret}`,
      `key in http://x/v2/${secret} is rate limited`,
    ]) {
      node.response('eth_getStorageAt', rpcError(-32000, message, { url: `${node.url}/v2/${secret}` }));
      await post('fake', key);
    }
    for (const slug of ['dead', 'lost', 'alien']) expect(await post(slug, key)).toBe(503);
    node.response('eth_getStorageAt', `0x${'0'.repeat(64)}`);
    expect(await post('basic', key)).toBe(200);
  });

  it('to a caller, when a secret is wrong, a limit is reached, or a stored permission is malformed', async () => {
    expect(await post('basic', guarded.key, basic(wrongSecret))).toBe(401);
    expect(await post('basic', guarded.key)).toBe(401);
    const statuses = [0, 1, 2].map(() => post('basic', guarded.key, basic(guarded.secret)));
    expect(await Promise.all(statuses)).toContain(429);
    const { store } = openKeys({ DATA_DIR: join(place.folder, '.gatehouse') });
    const digest = digestOf(guarded.key);
    const text = (await store.get(KEY_FOLDER, digest)) ?? '';
    await store.put(KEY_FOLDER, digest, text.replace(/"secrets":"[0-9a-f]+"/, `"secrets":"${guarded.secret}"`));
    await store.close();
    const mistaken = async (): Promise<boolean> => {
      await post('basic', guarded.key, basic(guarded.secret));
      return gateway.log().includes('its record is invalid');
    };
    await eventually(mistaken);
    expect(await post('basic', guarded.key, basic(guarded.secret))).toBe(401);
  });

  it('to a caller, when keys are rejected', async () => {
    const statuses = await inTurn([
      unknownKey,
      unknownKey,
      importedKey,
      `${key}x`,
      key.toLowerCase(),
      makeKey(),
      makeKey(),
    ]);
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(statuses.at(-1)).toBe(429);
  });

  it('to a caller, when requests are invalid', async () => {
    const url = `${gateway.address}/fake/v3/${key}`;
    const requests: [string, RequestInit][] = [
      [url, { method: 'GET' }],
      [url, { method: 'PUT', body: '{}' }],
      [url, { method: 'OPTIONS' }],
      [url, { method: 'POST', body: '{"jsonrpc":' }],
      [url, { method: 'POST', body: '{}', headers: { 'content-encoding': 'gzip' } }],
      [`${url}/more`, { method: 'POST', body: '{}' }],
      [`${url}/%zz`, { method: 'GET' }],
      [`${gateway.address}/nowhere/v3/${key}`, { method: 'POST', body: '{}' }],
      [`${gateway.address}/v3/${key}`, { method: 'POST', body: '{}' }],
      [`${gateway.address}/fake?key=${key}`, { method: 'GET' }],
    ];
    const before = outputs.length;
    for (const [address, request] of requests) await logEntry(await fetch(address, request));
    for (const line of [
      `POST /fake/v3/${key} HTTP/9.9\r\n\r\n`,
      `POST /fake/v3/${key}\u0001 HTTP/1.1\r\n\r\n`,
      `POST /fake/v3/${key} HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      `CONNECT /fake/v3/${key} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ]) {
      outputs.push(await sendRaw(line));
    }
    // Headers and body of each, and four raw responses: the last test looks for secrets in all of them.
    expect(outputs.length - before).toBe(2 * requests.length + 4);
  });

  it('in metrics and in health', async () => {
    for (const path of ['metrics', 'readyz', 'livez']) await logEntry(await fetch(`${gateway.address}/${path}`));
    const attempt = 'gatehouse_upstream_attempts_total{network="dead",upstream="dead",outcome="transport"} 1';
    expect(outputs.some((text) => text.includes(attempt))).toBe(true);
  });

  it('in the output of the command line about keys', async () => {
    const id = /^([0-9a-f]{12}) /m.exec((await place.run(['keys', 'list'])).stdout)?.[1] ?? '';
    for (const args of [
      ['keys', 'list'],
      ['keys', 'list', '--json'],
      ['keys', 'show', id],
      ['keys', 'update', id, '--rate', '100'],
      ['keys', 'show', guarded.id],
      ['keys', 'show', guarded.id, '--json'],
      ['keys', 'revoke', id],
    ]) {
      const { code, stdout, stderr } = await place.run(args);
      expect([code, stdout]).toEqual([0, expect.stringContaining(args[2]?.startsWith('-') === false ? args[2] : id)]);
      outputs.push(stdout + stderr);
    }
  });

  it('in the log at the lowest level', async () => {
    await gateway.stop();
    const log = gateway.log();
    for (const slug of ['fake', 'dead', 'lost', 'alien']) {
      expect(log).toMatch(new RegExp(`"network":"${slug}".*"upstream failed"`));
    }
    const audit = readFileSync(join(place.folder, '.gatehouse/audit.jsonl'), 'utf8');
    const all = [...outputs, log, audit].join('\n');
    expect(hidden().filter((text) => all.includes(text))).toEqual([]);
  });
});

/** The header, without the word Basic. */
function basic(password: string): string {
  return Buffer.from(`:${password}`).toString('base64');
}

async function post(slug: string, withKey: string, credentials?: string): Promise<number> {
  const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
  const response = await fetch(`${gateway.address}/${slug}/v3/${withKey}`, {
    method: 'POST',
    body: request,
    ...(credentials !== undefined && { headers: { authorization: `Basic ${credentials}` } }),
  });
  await logEntry(response);
  return response.status;
}

async function inTurn(keys: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const one of keys) statuses.push(await post('fake', one));
  return statuses;
}

/** The whole response to a caller. */
async function logEntry(response: Response): Promise<void> {
  outputs.push(JSON.stringify([...response.headers]), await response.text());
}

async function sendRaw(text: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1').setEncoding('utf8');
  let response = '';
  socket.on('data', (part: string) => (response += part));
  socket.write(text);
  await once(socket, 'close');
  return response;
}
