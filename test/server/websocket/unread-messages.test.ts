import { afterEach, beforeEach, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { gatewaySocket } from '../http/gateway-socket.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import type { Socket } from 'node:net';

const size = 900_000;
const budget = 40_000_000;
const batchOf = (count: number): string =>
  JSON.stringify(
    Array.from({ length: count }, (_, id) => {
      return { jsonrpc: '2.0', id, method: 'eth_getCode', params: [`0x${'11'.repeat(20)}`, 'latest'] };
    }),
  );

let node: FakeNode;
let gateway: TestGateway;
let callers: Caller[] = [];

beforeEach(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getCode: `0x${'60'.repeat(size / 2)}` } });
  gateway = await startGateway({ main: network(5, [node.url]) }, { BODIES_MAX_BYTES: String(budget) });
});
afterEach(async () => {
  for (const { socket } of callers) socket.terminate();
  callers = [];
  await gateway.stop();
  await node.close();
});

async function open(): Promise<Caller> {
  const caller = await openCaller(socketUrl(gateway, 'main'));
  callers.push(caller);
  return caller;
}

const metric = async (name: string, labels = {}): Promise<number> =>
  (await readMetrics(gateway.address)).value(name, labels) ?? NaN;
const bufferedBytes = (): Promise<number> => metric('gatehouse_buffered_bytes');

it('responses that WebSockets do not read use at most half of the budget, and are rejected beyond it', async () => {
  const request = async (): Promise<void> => {
    const caller = await open();
    caller.socket.pause();
    caller.send(batchOf(20));
  };
  for (let index = 0; index < 8; index++) await request();
  await eventually(async () => (await metric('gatehouse_memory_rejections_total', { reason: 'share' })) > 0);
  // Together 144 MB were requested.
  expect(await bufferedBytes()).toBeGreaterThan(budget / 8);
  expect(await bufferedBytes()).toBeLessThanOrEqual(budget / 2);
  // Sockets that read nothing while their key has used up its share are closed after 5 s.
  await eventually(async () => {
    // The kernel has taken a part.
    if ((await bufferedBytes()) + size < budget / 2) await request();
    return (await metric('gatehouse_memory_rejections_total', { reason: 'connection' })) > 0;
  });
  await eventually(async () => (await metric('gatehouse_websockets_closed_total', { reason: 'slow-reader' })) > 0);
  for (const { socket } of callers) socket.terminate();
  await eventually(async () => (await bufferedBytes()) === 0);
});

it('a client that reads gets its responses, and its bytes are released', async () => {
  const caller = await open();
  caller.send(batchOf(10));
  expect((await caller.next()).length).toBeGreaterThan(10 * size);
  await eventually(async () => (await bufferedBytes()) === 0);
});

it('messages that wait are accounted, and released when the client disconnects', async () => {
  const caller = await open();
  const { _socket: connection } = caller.socket as unknown as { _socket: Socket };
  caller.socket.pause();
  caller.send(batchOf(20));
  await eventually(async () => (await bufferedBytes()) > size);
  caller.send(...Array.from({ length: 500 }, () => batchOf(1)));
  await eventually(() => gatewaySocket(connection)?.isPaused() === true);
  caller.socket.terminate();
  await eventually(async () => (await bufferedBytes()) === 0);
});

it('a message that arrives byte by byte is served', async () => {
  const caller = await open();
  const { _socket: connection } = caller.socket as unknown as { _socket: Socket };
  const message = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"net_version"}'.padStart(9_000));
  // The mask is zero, which does not change the payload.
  connection.write(Buffer.from([0x81, 0x80 | 126, message.length >> 8, message.length & 255, 0, 0, 0, 0]));
  for (let at = 0; at < message.length; at++) {
    connection.write(message.subarray(at, at + 1));
    await new Promise(setImmediate);
  }
  expect(JSON.parse(await caller.next())).toMatchObject({ result: '5' });
});

it('a message in fragments of any size is served', async () => {
  const caller = await open();
  const message = '{"jsonrpc":"2.0","id":"é😀","method":"net_version"}'.padStart(600_000);
  for (let at = 0, size = 1; at < message.length; at += size, size = (size * 7 + 1) % 997) {
    caller.socket.send(message.slice(at, at + size), { fin: false });
    if (size % 5 === 0) await new Promise(setImmediate);
  }
  caller.socket.send('', { fin: true });
  expect(JSON.parse(await caller.next())).toMatchObject({ id: 'é😀', result: '5' });
});

it('a message of too many fragments closes the socket', async () => {
  const caller = await open();
  for (let index = 0; index < 5_000; index++) caller.socket.send(' ', { fin: false });
  expect((await caller.closed).code).toBe(1008);
});
