import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKeys } from '../auth/run-keys.ts';
import { startIssuer, type Issuer } from '../auth/tokens/issuer.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { walletExtension } from '../support/wallet-extension.ts';

const chainId = 5;
const ethers = readFileSync(join(packageRoot, 'node_modules/ethers/dist/ethers.umd.min.js'), 'utf8');

let folder: string;
let redis: RedisServer;
let chain: ScriptedChain;
let node: FakeNode;
let issuer: Issuer;
let gateway: TestGateway;
let site: Server;
let browser: Chromium;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-dapp-'));
  chain = new ScriptedChain();
  const responses = { ...chain.responses(), eth_getBalance: '0x2a' };
  [redis, node, issuer, browser] = await Promise.all([
    startRedis(),
    startFakeNode({ chainId, responses }),
    startIssuer(),
    startChromium(),
  ]);
  const networks = {
    open: network(chainId, [node.url], { public: { rate: 1_000, total: { rate: 1_000 } } }),
    main: network(chainId, [node.url]),
    auth: { ...issuer.auth, plans: { app: { rate: 1000 } }, clockToleranceS: 0 },
  };
  gateway = await startGateway(networks, { REDIS_URL: redis.url });
  site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>dapp</title>');
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
}, 120_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  site.close();
  await Promise.all([node.close(), issuer.close(), redis.stop()]);
  rmSync(folder, { recursive: true });
});

/** A page of another origin than the gateway, with ethers. */
async function openDapp(): Promise<Tab> {
  const tab = await browser.open(`http://127.0.0.1:${(site.address() as AddressInfo).port}`);
  await tab.evaluate(ethers);
  return tab;
}

describe('a browser without a key', () => {
  it('adds a public network to its wallet, whose address then serves calls of a dapp', async () => {
    const page = await browser.open(`${gateway.address}/open`, { before: walletExtension });
    await page.waitFor(`document.querySelector('#wallets button') !== null`);
    await page.evaluate(`document.querySelector('#wallets button').click()`);
    await page.waitFor('walletRequests.length === 1');
    const [url] = await page.evaluate<string[]>('walletRequests[0].params[0].rpcUrls');
    const dapp = await openDapp();
    const balance = `new ethers.JsonRpcProvider('${url}').getBalance('0x${'11'.repeat(20)}').then(String)`;
    expect(await dapp.evaluate(balance)).toBe('42');
    expect(dapp.errors).toEqual([]);
  });

  it('gets new blocks over the WebSocket of a public network', async () => {
    const dapp = await openDapp();
    const address = `${gateway.address.replace('http', 'ws')}/open/ws`;
    await dapp.evaluate(
      `window.blocks = []; new ethers.WebSocketProvider('${address}').on('block', (b) => blocks.push(b))`,
    );
    await eventually(async () => {
      chain.mine();
      return (await dapp.evaluate<number>('blocks.length')) > 0;
    });
    expect(dapp.errors).toEqual([]);
  });
});

describe('a browser with tokens', () => {
  /** Opens a WebSocket with the token, and calls. */
  const socketOf = (name: string, token: string): string => `new Promise((resolve, reject) => {
    const socket = new WebSocket('${gateway.address.replace('http', 'ws')}/main/ws/v3', ['gatehouse.jwt', '${token}']);
    window.${name} = { socket };
    socket.onopen = () => socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x${'11'.repeat(20)}","latest"]}');
    socket.onmessage = ({ data }) => resolve({ protocol: socket.protocol, ...JSON.parse(data) });
    socket.onclose = ({ code, reason }) => { window.${name}.closed = [code, reason]; reject(new Error('closed')); };
  })`;
  const served = { protocol: 'gatehouse.jwt', jsonrpc: '2.0', id: 1, result: '0x2a' };

  it('calls over a WebSocket until the token ends, then with one of a new signing key', async () => {
    const dapp = await openDapp();
    expect(await dapp.evaluate(socketOf('short', await issuer.sign({ gatehouse: 'app' }, 5)))).toEqual(served);
    await dapp.waitFor('short.closed !== undefined');
    expect(await dapp.evaluate('short.closed')).toEqual([1008, 'invalid token']);
    await issuer.rotate();
    const token = await issuer.sign({ gatehouse: 'app' }, 60);
    // The gateway requests the key set again after some seconds at the earliest.
    const next = async (): Promise<unknown> => dapp.evaluate(socketOf('next', token)).catch(() => undefined);
    await eventually(async () => JSON.stringify(await next()) === JSON.stringify(served), 60_000);
  });

  it('loses its WebSocket within a second of the revocation of its subject', async () => {
    const dapp = await openDapp();
    const token = await issuer.sign({ sub: 'stolen', gatehouse: 'app' }, 60);
    expect(await dapp.evaluate(socketOf('stolen', token))).toEqual(served);
    const env = { REDIS_URL: redis.url, DATA_DIR: folder, NETWORKS_DIR: gateway.folder };
    expect(await runKeys(env, ['revoke-tokens', '--subject', 'stolen'])).toMatchObject({ exitCode: 0 });
    await dapp.waitFor('stolen.closed !== undefined');
    expect(await dapp.evaluate('stolen.closed[0]')).toBe(1008);
    await expect(dapp.evaluate(socketOf('again', token))).rejects.toThrow('closed');
  });

  it('calls over HTTP from another origin', async () => {
    const dapp = await openDapp();
    const token = await issuer.sign({ gatehouse: 'app' }, 60);
    const balance = `(() => {
      const request = new ethers.FetchRequest('${gateway.address}/main/v3');
      request.setHeader('authorization', 'Bearer ${token}');
      return new ethers.JsonRpcProvider(request).getBalance('0x${'11'.repeat(20)}').then(String);
    })()`;
    expect(await dapp.evaluate(balance)).toBe('42');
    expect(dapp.errors).toEqual([]);
  });
});
