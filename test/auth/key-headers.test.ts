import { once } from 'node:events';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const chainId = 5;
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const valid = { id: 1, jsonrpc: '2.0', result: '0x5' };

let node: FakeNode;
let gateway: TestGateway;
let keyless: string;
let key: string;
let log = '';

beforeAll(async () => {
  node = await startFakeNode({ chainId });
  const lines = pino({ level: 'trace' }, { write: (line: string) => void (log += line) });
  const env = { KEY_HEADERS: 'on', ACCESS_LOG: 'on' };
  gateway = await startGateway({ main: network(chainId, [node.url]) }, env, lines);
  const url = gateway.url('main');
  key = url.slice(url.lastIndexOf('/') + 1);
  keyless = url.slice(0, url.lastIndexOf('/'));
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function send(url: string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { method: 'POST', body: call, headers });
  return { status: response.status, body: await response.json() };
}

const places: [place: string, headers: (key: string) => Record<string, string>][] = [
  ['X-API-Key', (text) => ({ 'X-API-Key': text })],
  ['Authorization: Bearer', (text) => ({ Authorization: `Bearer ${text}` })],
  ['both headers', (text) => ({ 'X-API-Key': text, authorization: `bearer ${text}` })],
];

describe.each(places)('a key in %s', (_, headers) => {
  it('is accepted without a key in the path, and with the same key there', async () => {
    for (const url of [keyless, `${keyless}/`, `${keyless}/${key}`])
      expect(await send(url, headers(key))).toEqual({ status: 200, body: valid });
  });

  it('that differs from the key in the path is 401', async () => {
    const rejected = { status: 401, body: { error: { code: -32002 } } };
    expect(await send(`${keyless}/${key}`, headers(makeKey()))).toMatchObject(rejected);
    expect(await send(`${keyless}/${makeKey()}`, headers(key))).toMatchObject(rejected);
  });

  it('that is unknown or malformed is 401, also on a connection with a valid one before', async () => {
    for (const given of [makeKey(), 'x', `${key}, ${key}`]) {
      await send(keyless, headers(key));
      expect(await send(keyless, headers(given))).toMatchObject({ status: 401, body: { error: { code: -32002 } } });
    }
  });

  it('opens a WebSocket', async () => {
    const socket = new WebSocket(keyless.replace('http', 'ws').replace(/\/v3$/, '/ws/v3'), {
      headers: headers(key),
    });
    await once(socket, 'open');
    socket.send(call);
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(data.toString())).toEqual(valid);
    socket.terminate();
  });
});

it('two headers with different keys are 401, although one is valid', async () => {
  for (const [first, second] of [
    [key, makeKey()],
    [makeKey(), key],
  ])
    expect(await send(keyless, { 'X-API-Key': String(first), Authorization: `Bearer ${second}` })).toMatchObject({
      status: 401,
    });
});

it('Basic authentication has a secret, no key', async () => {
  expect(await send(keyless, { Authorization: `Basic ${btoa(`:${key}`)}` })).toMatchObject({ status: 401 });
});

it('a page may send the headers', async () => {
  const headers = { origin: 'https://dapp.example', 'access-control-request-headers': 'authorization,x-api-key' };
  const preflight = await fetch(keyless, { method: 'OPTIONS', headers });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    'authorization,x-api-key',
  ]);
});

it('no log line has a key, valid or not', async () => {
  const unknown = makeKey();
  const before = log.length;
  for (const given of [key, unknown]) {
    for (const [, headers] of places) await send(keyless, headers(given));
  }
  await eventually(() => log.slice(before).split('"msg":"request"').length > 2 * places.length);
  expect(log).not.toContain(key);
  expect(log).not.toContain(unknown);
});

it('without KEY_HEADERS, headers are not read', async () => {
  const other = await startGateway({ main: network(chainId, [node.url]) });
  try {
    const url = other.url('main');
    const given = url.slice(url.lastIndexOf('/') + 1);
    expect(await send(url.slice(0, url.lastIndexOf('/')), { 'X-API-Key': given })).toMatchObject({ status: 401 });
    expect(await send(url, { 'X-API-Key': makeKey() })).toMatchObject({ status: 200 });
  } finally {
    await other.stop();
  }
});
