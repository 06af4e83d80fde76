import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { Workplace, type Gateway } from './gateway-process.ts';

/** Attacks with one valid key on a gateway process with default settings. Without bounds, each takes 0.6 to 3.4 GB. */

/** Holds for the process with all garbage that V8 has not collected yet, which depends on the load of the machine. */
const MAX_RSS_BYTES = 512_000_000;
const chainId = 1;

let node: FakeNode;
let tiny: Server;
let place: Workplace;
let gateway: Gateway;
let port: number;
let attackerKey: string;
let key: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId, responses: { eth_getCode: `0x${'00'.repeat(450_000)}` } });
  tiny = createServer(respondInTinyChunks).listen(0, '127.0.0.1');
  await once(tiny, 'listening');
});
afterAll(async () => {
  tiny.close();
  await node.close();
});
beforeEach(async () => {
  // Three million chunks take over 15 s beside other tests.
  const timeoutMs = 60_000;
  const upstream = (url: string): object => ({
    chainId,
    name: 'Main',
    upstreams: [{ name: 'node', url, failsafe: { timeoutMs } }],
  });
  const tinyUrl = `http://127.0.0.1:${(tiny.address() as AddressInfo).port}`;
  place = new Workplace().withNetworks({ main: upstream(node.url), tiny: upstream(tinyUrl) });
  key = await place.addKey();
  attackerKey = await place.addKey();
  // The memory of one process is watched.
  const env = { LOG_LEVEL: 'silent', NODE_ENV: 'production', WORKERS: '1', CALL_TIMEOUT_MS: '60000' };
  gateway = await place.start({ ...env, DRAIN_DELAY_MS: '0', DRAIN_TIMEOUT_MS: '200' });
  port = Number(new URL(gateway.address).port);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await place.close();
});

/** Opens a connection that sends bytes and reads nothing. */
function sendUnread(bytes: string | Buffer): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  sockets.push(socket.on('error', () => undefined));
  socket.write(bytes);
  return socket;
}

/** Highest memory of the process while the neighbour sends calls for some seconds, one after the other. */
async function watchNeighbour(seconds: number): Promise<{ rss: number; buffered: number; statuses: Set<number> }> {
  const statuses = new Set<number>();
  let [rss, buffered] = [0, 0];
  const until = clock.now() + seconds * 1000;
  while (clock.now() < until) {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
    const response = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body });
    await response.text();
    statuses.add(response.status);
    const { value } = await readMetrics(gateway.address);
    rss = Math.max(rss, value('process_resident_memory_bytes') ?? Infinity);
    buffered = Math.max(buffered, value('gatehouse_buffered_bytes') ?? Infinity);
    await scenarioPause(5);
  }
  return { rss, buffered, statuses };
}

const codeCall = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'eth_getCode',
  params: [`0x${'11'.repeat(20)}`, 'latest'],
});
const request = (body: string): string =>
  `POST /main/v3/${attackerKey} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

function sendPipelined(): void {
  const one = request(JSON.stringify(codeCall(1)));
  for (let index = 0; index < 6; index++) sendUnread(one.repeat(Math.floor(65_000 / one.length)));
}

function sendOverWebSockets(): void {
  const batch = Buffer.from(JSON.stringify(Array.from({ length: 24 }, (_, id) => codeCall(id))));
  const frame = Buffer.concat([Buffer.from([0x81, 0xfe, batch.length >> 8, batch.length & 255, 0, 0, 0, 0]), batch]);
  for (let index = 0; index < 40; index++) {
    const socket = sendUnread(
      `GET /main/ws/v3/${attackerKey} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    socket.once('readable', () => socket.write(frame));
  }
}

function sendTinyChunks(): void {
  const piece = Buffer.from('1\r\n \r\n'.repeat(10_000));
  for (let index = 0; index < 4; index++) {
    const socket = sendUnread(`POST /main/v3/${attackerKey} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
    let pieces = 100;
    const send = (): void => {
      while (pieces-- > 0) if (!socket.write(piece)) return void socket.once('drain', send);
    };
    send();
  }
}

function sendSlowBodies(): void {
  const head = `POST /main/v3/${attackerKey} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n`;
  for (let index = 0; index < 40; index++) sendUnread(Buffer.concat([Buffer.from(head), Buffer.alloc(4_900_000, ' ')]));
}

it.each([
  ['pipelined requests whose responses are not read', sendPipelined, 20_000_000],
  ['WebSockets whose responses are not read', sendOverWebSockets, 20_000_000],
  ['request bodies in chunks of one byte', sendTinyChunks, 50_000],
  ['slow request bodies', sendSlowBodies, 50_000_000],
])('%s', async (_name, attack, minBuffered) => {
  const before = (await readMetrics(gateway.address)).value('process_resident_memory_bytes') ?? NaN;
  attack();
  const { rss, buffered, statuses } = await watchNeighbour(5);
  expect(buffered).toBeGreaterThan(minBuffered);
  expect(buffered).toBeLessThan(70_000_000);
  expect(rss).toBeGreaterThan(before);
  expect(rss).toBeLessThan(MAX_RSS_BYTES);
  expect([...statuses]).toEqual([200]);
});

it('all of them together', async () => {
  for (const attack of [sendPipelined, sendOverWebSockets, sendTinyChunks, sendSlowBodies]) attack();
  const { rss, statuses } = await watchNeighbour(4);
  expect(rss).toBeLessThan(MAX_RSS_BYTES);
  expect([...statuses]).toEqual([200]);
});

it('an upstream response in chunks of one byte', async () => {
  const body = JSON.stringify({
    ...codeCall(1),
    method: 'eth_call',
    params: [{ to: `0x${'13'.repeat(20)}` }, 'latest'],
  });
  const response = fetch(`${gateway.address}/tiny/v3/${attackerKey}`, { method: 'POST', body });
  const { rss } = await watchNeighbour(2);
  expect(rss).toBeLessThan(MAX_RSS_BYTES);
  // Each byte comes with six of framing, which ends the connection.
  expect((await response).status).toBe(503);
});

const tinyBytes = 3_000_000;

/** A node whose response to eth_call has chunks of one byte. */
function respondInTinyChunks(socket: Socket): void {
  sockets.push(socket.on('error', () => undefined));
  socket.on('data', (data: Buffer) => {
    const text = data.toString();
    const id = /"id":(\d+)/.exec(text)?.[1] ?? '0';
    if (!text.includes('"eth_call"')) {
      const result = text.includes('"eth_chainId"')
        ? '"0x1"'
        : '{"number":"0x10","gasLimit":"0x1c9c380","timestamp":"0x65000000","transactions":[]}';
      const body = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const start = `{"jsonrpc":"2.0","id":${id},"result":"0x`;
    socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${start.length.toString(16)}\r\n${start}\r\n`);
    const piece = Buffer.from('1\r\n0\r\n'.repeat(20_000));
    let pieces = tinyBytes / 20_000;
    const send = (): void => {
      while (pieces-- > 0) if (!socket.write(piece)) return void socket.once('drain', send);
      socket.write('2\r\n"}\r\n0\r\n\r\n');
    };
    send();
  });
}
