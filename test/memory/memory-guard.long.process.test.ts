import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workplace, type Gateway } from '../e2e/gateway-process.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { asUsual, type Behaviour } from '../support/behaviours.ts';
import { freePort } from '../support/redis.ts';
import { openCaller } from '../server/websocket/caller.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { eventually } from '../support/eventually.ts';

let node: FakeNode;
let place: Workplace;
let gateway: Gateway;
let opsPort: number;
const keys: string[] = [];
const ADMIN_TOKEN = 'the-admin-token-of-this-test';
const transaction = '0x02f870';
const hashOfTransaction = `0x${'ab'.repeat(32)}`;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: new ScriptedChain(120).responses() });
  place = new Workplace().withNetworks({
    main: { name: 'Main', chainId: 5, upstreams: [{ name: 'node', url: node.url, failsafe: { timeoutMs: 60_000 } }] },
  });
  opsPort = await freePort();
  gateway = await place.start({
    OPS_PORT: String(opsPort),
    ADMIN_TOKEN,
    MEMORY_LIMIT_MB: '220',
    BODIES_MAX_BYTES: '1000000000',
    CALL_TIMEOUT_MS: '60000',
    // The first of the bodies is incomplete until the last one has filled memory, on a busy machine too.
    REQUEST_TIMEOUT_MS: '600000',
  });
  for (const name of ['heavy', 'light']) {
    const response = await fetch(`http://127.0.0.1:${opsPort}/admin/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    keys.push(((await response.json()) as { key: string }).key);
  }
});
afterAll(async () => {
  await gateway.stop();
  await place.close();
  await node.close();
});

const post = (key: string, method = 'eth_chainId', params: unknown[] = []): Promise<Response> =>
  fetch(`${gateway.address}/main/v3/${key}`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { 'content-type': 'application/json' },
  });

async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return text.split('\n').find((line) => line.startsWith(name));
}

describe('a process that is short of memory', () => {
  it('rejects the heaviest key, closes its sockets, serves the others, and recovers', async () => {
    const [heavy, light] = keys as [string, string];
    const socketUrl = `${gateway.address.replace('http', 'ws')}/main/ws/v3/`;
    const heavySocket = await openCaller(socketUrl + heavy);
    const lightSocket = await openCaller(socketUrl + light);
    // A call of the heavy key that is in progress, and a transaction on a socket of it.
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const whenReleased: Behaviour = async (exchange) => {
      await released;
      asUsual(exchange);
    };
    node.response('eth_getBalance', '0x7');
    node.response('eth_sendRawTransaction', hashOfTransaction);
    node.always(whenReleased, 'eth_getBalance');
    node.always(whenReleased, 'eth_sendRawTransaction');
    const inProgress = post(heavy, 'eth_getBalance', ['0x00000000000000000000000000000000000000aa', 'latest']);
    const sendingSocket = await openCaller(socketUrl + heavy);
    const sending = sendingSocket.call('eth_sendRawTransaction', [transaction]);
    await eventually(() => node.callsOf('eth_sendRawTransaction').length > 0);
    const port = Number(new URL(gateway.address).port);
    const connections: Socket[] = [];
    let response = '';
    // Bodies that do not end. BODIES_MAX_BYTES permits more than the process may use. In the second between two collections
    // they must not fill what is left until memory is critical (33 MB): then calls in progress are closed.
    for (let count = 0; count < 300 && response === ''; count++) {
      const connection = connect(port, '127.0.0.1');
      connections.push(connection);
      connection.on('error', () => connection.destroy());
      connection.on('data', (bytes: Buffer) => (response += bytes.toString()));
      connection.write(`POST /main/v3/${heavy} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n`);
      connection.write(Buffer.alloc(1_000_000, ' '));
      await scenarioPause(100);
      expect((await post(light)).status).toBe(200);
    }
    expect(response).toMatch(/^HTTP\/1\.1 503 /);
    expect(response).toContain('the gateway is short of memory');
    expect(response).toContain('Retry-After: 01');
    expect(await heavySocket.closed).toEqual({
      code: 1013,
      reason: 'the gateway is short of memory: connect again later',
    });
    release();
    expect(await (await inProgress).json()).toMatchObject({ result: '0x7' });
    expect(await sending).toMatchObject({ result: hashOfTransaction });
    sendingSocket.socket.terminate();
    expect(await lightSocket.call('net_version')).toMatchObject({ result: '5' });
    expect(await metric('gatehouse_http_rejections_total{reason="memory-pressure"}')).toBeDefined();
    for (const connection of connections) connection.destroy();
    // Resident memory counts until 10 s after its last growth, and it may grow again meanwhile.
    const isNormal = async () => (await metric('gatehouse_memory_pressure')) === 'gatehouse_memory_pressure 0';
    await eventually(isNormal, 60_000);
    expect((await post(heavy)).status).toBe(200);
    lightSocket.socket.terminate();
  });
});
