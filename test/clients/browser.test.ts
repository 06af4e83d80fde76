import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type * as Ethers from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { callLocalNode } from '../../local-chain/local-node.ts';
import { makeWorld, type World } from './world.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

let world: World;
let site: Server;
let chromium: Chromium;
let page: Tab;

beforeAll(async () => {
  [world, chromium] = await Promise.all([makeWorld(), startChromium()]);
  const ethers = readFileSync(join(packageRoot, 'node_modules/ethers/dist/ethers.min.js'));
  // Another origin than the gateway, because the port differs.
  site = createServer(({ url }, response) => {
    if (url === '/ethers.js') response.setHeader('content-type', 'text/javascript').end(ethers);
    else response.setHeader('content-type', 'text/html').end('<!doctype html><title>a dapp</title>');
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  page = await chromium.open(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`, { stays: true });
});
afterAll(async () => {
  await chromium.close();
  site.close();
  await world.close();
});

function verbs(since: number): string[] {
  return world.proxy.requests.slice(since).map(({ verb }) => verb);
}

/** Runs a function in the page. Its argument is passed as JSON, because the page cannot access the test's variables. */
function inPage<Given, Result>(run: (given: Given) => Promise<Result>, given: Given): Promise<Result> {
  return page.evaluate(`(${run.toString()})(${JSON.stringify(given)})`);
}

async function post({ url, bodies }: { url: string; bodies: object[] }) {
  const responses: { status: number; retryAfter: string | null; response: unknown }[] = [];
  for (const body of bodies) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const retryAfter = response.headers.get('retry-after');
    responses.push({ status: response.status, retryAfter, response: await response.json() });
  }
  return responses;
}

const call = (method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params });

describe('a page of another origin, in Chromium,', () => {
  it('sends calls after a single preflight request', async () => {
    const { counter } = world.anvil.chain;
    const before = world.proxy.requests.length;
    const storage = call('eth_getStorageAt', counter.address, counter.numberPosition, 'latest');
    const bodies = [call('eth_chainId'), storage, [storage, call('eth_chainId')], call('no_such')];
    const responses = await inPage(post, { url: world.connection.http, bodies });
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(responses[0]?.response).toEqual({ jsonrpc: '2.0', id: 1, result: '0x539' });
    expect(Number((responses[1]?.response as { result: string }).result)).toBe(counter.value);
    expect(responses[3]?.response).toMatchObject({ error: { code: -32_601 } });
    expect(verbs(before)).toEqual(['OPTIONS', 'POST', 'POST', 'POST', 'POST']);
  });

  it('needs no second preflight for a day, and in fact for longer than Chromium’s default of five seconds', async () => {
    const headers = { origin: 'http://a.test', 'access-control-request-method': 'POST' };
    const preflight = await fetch(world.connection.http, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('access-control-max-age')).toBe('86400');
    const before = world.proxy.requests.length;
    await scenarioPause(5_500);
    await inPage(post, { url: world.connection.http, bodies: [call('eth_chainId')] });
    expect(verbs(before)).toEqual(['POST']);
  });

  it('reads rejections and Retry-After', async () => {
    await world.changeKey({ rate: '1', burst: '1' });
    try {
      await world.exhaust();
      const [rejected] = await inPage(post, { url: world.connection.http, bodies: [call('eth_blockNumber')] });
      expect(rejected).toMatchObject({ status: 429, retryAfter: '01', response: { error: { code: -32_005 } } });
    } finally {
      await world.changeKey({ rate: undefined, burst: undefined });
    }
    const url = world.connection.http.replace(/[^/]+$/, 'f'.repeat(32));
    const [unknown] = await inPage(post, { url, bodies: [call('eth_chainId')] });
    expect(unknown).toMatchObject({ status: 401, response: { error: { message: 'invalid project id' } } });
  });

  it('subscribes over a WebSocket, and gets blocks and logs', async () => {
    const { caller, counter } = world.anvil.chain;
    await inPage(subscribe, {
      url: world.connection.ws,
      kinds: [['newHeads'], ['logs', { address: counter.address }]],
    });
    const hash = await callLocalNode(world.anvil.url, 'eth_sendTransaction', [
      { from: caller, to: counter.address, data: counter.calls.set },
    ]);
    await page.waitFor('window.notifications.every((results) => results.length > 0)');
    const [heads, logs] = await page.evaluate<[{ number: string }[], object[]]>('window.notifications');
    expect(logs).toMatchObject([{ address: counter.address, transactionHash: hash, removed: false }]);
    expect(logs).toMatchObject([{ blockNumber: heads[0]?.number }]);
  });

  it('with ethers reads without preflights, and watches while an upstream fails', async () => {
    const { caller, counter } = world.anvil.chain;
    const before = world.proxy.requests.length;
    await page.evaluate(`import('/ethers.js').then((ethers) => { window.ethers = ethers; })`);
    await inPage(watchByEthers, { http: world.connection.http, ws: world.connection.ws, address: counter.address });
    const from = Number(await callLocalNode(world.anvil.url, 'eth_blockNumber', []));
    const storageParams = [counter.address, counter.numberPosition, 'latest'];
    const value = Number(await callLocalNode(world.anvil.url, 'eth_getStorageAt', storageParams));
    const mine = (): Promise<unknown> =>
      callLocalNode(world.anvil.url, 'eth_sendTransaction', [
        { from: caller, to: counter.address, data: counter.calls.set },
      ]);
    await mine();
    await page.waitFor(`window.seen.logs.includes(${from + 1})`);
    await world.cut('first');
    await mine();
    await mine();
    await page.waitFor(`[window.seen.blocks, window.seen.logs].every((seen) => seen.includes(${from + 3}))`);
    await world.mend();
    expect(await page.evaluate('window.seen')).toEqual({
      read: { chainId: 1337, value },
      blocks: [from + 1, from + 2, from + 3],
      logs: [from + 1, from + 2, from + 3],
    });
    expect(new Set(verbs(before))).toEqual(new Set(['POST']));
    expect(page.errors.filter((text) => !/status of (429|401)/.test(text))).toEqual([]);
  });
});

/** Reads over HTTP and watches over WebSocket. Stores results and block numbers in `window.seen`. */
async function watchByEthers({ http, ws, address }: { http: string; ws: string; address: string }): Promise<void> {
  const { ethers } = window as unknown as { ethers: typeof Ethers };
  const reader = new ethers.JsonRpcProvider(http);
  const counter = new ethers.Contract(address, ['function number() view returns (uint256)'], reader);
  const read = {
    chainId: Number((await reader.getNetwork()).chainId),
    value: Number(await (counter['number'] as unknown as () => Promise<bigint>)()),
  };
  const seen = { read, blocks: [] as number[], logs: [] as number[] };
  Object.assign(window, { seen });
  const watcher = new ethers.WebSocketProvider(ws);
  await watcher.on('block', (number: number) => seen.blocks.push(number));
  await watcher.on({ address }, ({ blockNumber }: { blockNumber: number }) => seen.logs.push(blockNumber));
  // ethers does not await its subscriptions. Both are requested before this call.
  await watcher.send('net_version', []);
}

/** Subscribes, and stores the notifications of each kind in `window.notifications`. */
async function subscribe({ url, kinds }: { url: string; kinds: unknown[][] }): Promise<void> {
  const socket = new WebSocket(url);
  const notifications: unknown[][] = kinds.map(() => []);
  Object.assign(window, { notifications });
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  kinds.forEach((params, id) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }));
  });
  const ids: string[] = [];
  await new Promise<void>((resolve) => {
    socket.onmessage = ({ data }) => {
      const { id, result, params } = JSON.parse(data as string) as {
        id?: number;
        result?: string;
        params?: { subscription: string; result: unknown };
      };
      if (params !== undefined) notifications[ids.indexOf(params.subscription)]?.push(params.result);
      else if (id !== undefined) ids[id] = String(result);
      if (ids.filter(Boolean).length === kinds.length) resolve();
    };
  });
}
