import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { pino } from 'pino';
import { packageRoot } from '../../gateway/config/package.ts';
import { makeAuthority, type Authority } from '../support/authority.ts';
import { startConnectProxy, type ConnectProxy } from '../support/connect-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';

const params = ['0x1212121212121212121212121212121212121212', '0x5', 'latest'];
const word = `0x${'5'.padStart(64, '0')}`;

let folder: string;
let node: FakeNode;
let authority: Authority;
let gateway: TestGateway | undefined;
let log: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-private-'));
  authority = makeAuthority('Private');
  node = await startFakeNode({ chainId: 8453, responses: { eth_getStorageAt: word } });
  gateway = undefined;
  log = '';
});
afterEach(async () => {
  await gateway?.stop();
  await node.close();
  rmSync(folder, { recursive: true });
});

/** Replaces files, as tools that renew certificates do. @returns their paths, as options of `tls` */
function write(files: Readonly<Record<string, string>>): Record<string, string> {
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(`${path}~`, text);
    renameSync(`${path}~`, path);
    return [name, path] as const;
  });
  return Object.fromEntries(paths);
}

/** TLS that requires a client certificate of the authority, in front of a node. */
function startPrivate(target: string): Promise<TlsFront> {
  return startTlsFront(target, { ...authority.issue(), ca: authority.ca, requestCert: true, rejectUnauthorized: true });
}

async function start(upstream: object, env: Record<string, string> = {}): Promise<TestGateway> {
  const files = { main: network(8453, [], { upstreams: [{ name: 'ours', ...upstream }] }) };
  const stream = pino({ level: 'debug' }, { write: (line: string) => void (log += line) });
  return (gateway = await startGateway(files, { CACHE_MAX_BYTES: '0', ...env }, stream));
}

const call = async (): Promise<JsonRpcResponse | undefined> => gateway?.call('main', 'eth_getStorageAt', params);
const works = async (): Promise<boolean> => (await call())?.result === word;

describe('an upstream behind a private authority', () => {
  it('gets the client certificate, over HTTP and over WebSocket', async () => {
    const socketNode = await startFakeWebSocketNode(8453);
    onTestFinished(() => socketNode.stop());
    const tls = write({ ca: authority.ca, ...authority.issue() });
    const [http, socket] = [await startPrivate(node.url), await startPrivate(socketNode.url)];
    await start({ url: `https://127.0.0.1:${http.port}`, tls });
    expect(await call()).toMatchObject({ result: word });
    expect(http.clients[0]).toBe('localhost');
    await gateway?.stop();
    await start({ websocketUrl: `wss://localhost:${socket.port}`, tls });
    expect(await call()).toMatchObject({ result: word });
    expect(socket.clients[0]).toBe('localhost');
  });

  it('is not used without its authority, or without a client certificate', async () => {
    const { port } = await startPrivate(node.url);
    await start({ url: `https://127.0.0.1:${port}`, tls: write({ ...authority.issue() }) });
    expect(await call()).toMatchObject({ error: { code: -32603 } });
    await gateway?.stop();
    await start({ url: `https://127.0.0.1:${port}`, tls: write({ ca: authority.ca }) });
    expect(await call()).toMatchObject({ error: { code: -32603 } });
    expect(node.calls).toEqual([]);
  });

  it('is used with renewed files, without a restart', async () => {
    const front = await startTlsFront(node.url, authority.issue());
    await start({ url: `https://127.0.0.1:${front.port}`, tls: write({ ca: authority.ca }) });
    expect(await works()).toBe(true);
    const next = makeAuthority('Next');
    front.renew(next.issue());
    await eventually(async () => !(await works()));
    write({ ca: next.ca });
    await eventually(works, 30_000);
  });

  it('keeps the last valid authority while the file is empty or not complete, and trusts no other', async () => {
    const front = await startTlsFront(node.url, authority.issue());
    await start({ url: `https://127.0.0.1:${front.port}`, tls: write({ ca: authority.ca }) });
    for (const broken of ['', authority.ca.slice(0, -60)]) {
      log = '';
      write({ ca: broken });
      await gateway?.gateway.reload();
      expect(log).toContain('network files rejected: the previous configuration stays active');
      expect(log).toMatch(/upstreams\[0\]\.tls\.ca: .*(is empty|not complete)/);
      // A new connection, with the previous authority.
      front.renew(authority.issue());
      await eventually(works);
    }
    front.renew(makeAuthority('Other').issue());
    expect(await works()).toBe(false);
    front.renew(authority.issue());
    write({ ca: authority.ca });
    await gateway?.gateway.reload();
    await eventually(works);
  });
});

describe('an upstream with a proxy', () => {
  const credentials = 'gatehouse:S3cret-of-the-proxy';
  const proxyUrl = ({ port }: ConnectProxy): string => `http://${credentials}@127.0.0.1:${port}`;

  it('is reached through it, over HTTP and over WebSocket', async () => {
    const socketNode = await startFakeWebSocketNode(8453);
    onTestFinished(() => socketNode.stop());
    const [proxy, other] = [await startConnectProxy(), await startConnectProxy()];
    await start({ url: node.url, proxyUrl: proxyUrl(proxy) }, { UPSTREAM_CONNECTIONS: '1' });
    expect(await call()).toMatchObject({ result: word });
    for (let times = 0; times < 5; times++) await call();
    // Connections are used again.
    expect(proxy.targets).toEqual([new URL(node.url).host]);
    expect(proxy.credentials[0]).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`);
    await gateway?.stop();
    await start({ websocketUrl: socketNode.url, proxyUrl: proxyUrl(other) });
    expect(await call()).toMatchObject({ result: word });
    expect(other.targets).toEqual([new URL(socketNode.url).host]);
  });

  it('that rejects the credentials is not used, and they are in no output', async () => {
    const proxy = await startConnectProxy(407);
    await start({ url: node.url, proxyUrl: proxyUrl(proxy) });
    const response = await call();
    expect(response).toMatchObject({ error: { code: -32603 } });
    const status = await (await fetch(`${gateway?.address ?? ''}/status`)).text();
    expect(log).toContain('PROXY_407');
    for (const output of [JSON.stringify(response), status, log])
      for (const secret of ['S3cret', Buffer.from(credentials).toString('base64'), String(proxy.port)])
        expect(output).not.toContain(secret);
    expect(node.calls).toEqual([]);
  });

  it('that does not respond delays neither the call beyond its deadline nor the stop', async () => {
    const proxy = await startConnectProxy('hang');
    const socketNode = await startFakeWebSocketNode(8453);
    onTestFinished(() => socketNode.stop());
    const urls = { url: node.url, websocketUrl: socketNode.url, proxyUrl: proxyUrl(proxy) };
    await start(urls, { CALL_TIMEOUT_MS: '500' });
    expect(await call()).toMatchObject({ error: { code: -32603 } });
    await eventually(() => proxy.hanging.size > 0);
    await gateway?.stop();
    gateway = undefined;
    // connector.test.ts shows that this does not wait for the time limit of connections.
    await eventually(() => proxy.hanging.size === 0);
  });
});

describe('docs/routing.md', () => {
  it('has an example with all of these, which works', async () => {
    const page = readFileSync(join(packageRoot, 'docs/routing.md'), 'utf8');
    const section = page.split('## Private authorities, client certificates and proxies\n')[1] ?? '';
    const example = /```yaml\n([^]*?)```/.exec(section)?.[1] ?? '';
    const { cert, key } = authority.issue();
    const socketNode = await startFakeWebSocketNode(8453);
    onTestFinished(() => socketNode.stop());
    const [front, socketFront] = [await startPrivate(node.url), await startPrivate(socketNode.url)];
    const proxy = await startConnectProxy();
    write({ 'ca.pem': authority.ca, 'gateway.pem': cert, 'gateway.key': key, token: 'T0ken' });
    const text = example
      .replaceAll('/etc/gatehouse/', `${folder}/`)
      .replace('https://node.internal:8545', `https://localhost:${front.port}`)
      .replace('wss://node.internal:8545', `wss://localhost:${socketFront.port}`)
      .replace('proxy.internal:3128', `127.0.0.1:${proxy.port}`);
    gateway = await startGateway({ main: text }, { PROXY_PASSWORD: 'S3cret-password' });
    expect(await call()).toMatchObject({ result: word });
    expect(node.callsOf('eth_getStorageAt')[0]?.headers.authorization).toBe('Bearer T0ken');
    expect(proxy.targets).toContain(`localhost:${front.port}`);
    expect(front.clients).toContain('localhost');
    node.response('eth_getStorageAt', `0x${'0'.repeat(6_000_000)}`);
    expect(await gateway.call('main', 'eth_getStorageAt', [params[0], '0x6', 'latest'])).toHaveProperty('error');
  });
});
