import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { gatewaySocket } from '../http/gateway-socket.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/** A frame of a client. Its mask is zero, which does not change the payload. */
function frame(payload: string | Buffer, opcode = 1): Buffer {
  const bytes = Buffer.from(payload as string);
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), bytes]);
}

const closeFrame = frame(Buffer.from([3, 232]), 8);
const netVersion = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"net_version"}`;

let node: FakeNode;
let gateway: TestGateway;
const connections: Socket[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterEach(() => {
  for (const connection of connections.splice(0)) connection.destroy();
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** A WebSocket whose frames are written by hand. It drops what it receives, and never closes its side. */
async function openByHand(key = gateway.key): Promise<Socket> {
  const connection = connect({ port: gateway.gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  connections.push(connection);
  connection.on('error', () => connection.destroy());
  connection.write(
    `GET /main/ws/v3/${key} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  await new Promise((resolve) => connection.once('data', resolve));
  connection.resume();
  return connection;
}

/** The longest time for which the event loop ran nothing else, as far as this process had the CPU. */
function watchBlocks(): () => number {
  let worstMs = 0;
  let last = clock.now();
  let lastCpu = process.cpuUsage();
  const timer = setInterval(() => {
    const cpu = process.cpuUsage(lastCpu);
    worstMs = Math.max(worstMs, Math.min(clock.now() - last, (cpu.user + cpu.system) / 1_000));
    last = clock.now();
    lastCpu = process.cpuUsage();
  }, 2);
  return () => {
    clearInterval(timer);
    return worstMs;
  };
}

describe('tiny messages', () => {
  it.each([
    ['empty', ''],
    ['an object', '{}'],
    ['a notification', '{"jsonrpc":"2.0","method":"x"}'],
  ])('of many sockets (%s) leave the event loop to others', async (_, payload) => {
    const sockets = await Promise.all(Array.from({ length: 32 }, () => openByHand()));
    const bytes = Buffer.concat(
      Array.from({ length: Math.floor(65_536 / frame(payload).length) }, () => frame(payload)),
    );
    const worstMs = watchBlocks();
    for (const socket of sockets) socket.write(bytes);
    await scenarioPause(1_500);
    // Usually 30 ms at most. Without the budget of a turn, or with all frames of a read at once: 200 to 2,000 ms.
    expect(worstMs()).toBeLessThan(200);
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });

  it('that are rejected over and over are read slowly, those of other sockets are not', async () => {
    const rejected = await openCaller(socketUrl(gateway, 'main'));
    for (let count = 0; count < 500; count++) rejected.send('{}');
    await eventually(() => rejected.unread.length >= 100);
    await staysTrueFor(700, () => rejected.unread.length < 200);
    const other = await openCaller(socketUrl(gateway, 'main'));
    expect(await other.call('net_version')).toMatchObject({ result: '5' });
    for (const { socket } of [rejected, other]) socket.terminate();
  });

  it('that are valid all get their response, in their order', async () => {
    const caller = await openCaller(socketUrl(gateway, 'main'));
    const ids = Array.from({ length: 5_000 }, (_, id) => id);
    caller.send(...ids.map(netVersion));
    for (const id of ids) expect(await caller.next()).toBe(`{"jsonrpc":"2.0","id":${id},"result":"5"}`);
    caller.socket.terminate();
  });
});

describe('a socket with frames that wait', () => {
  it('closes after them, as its client requests', async () => {
    const caller: Caller = await openCaller(socketUrl(gateway, 'main'));
    const { _socket: wire } = caller.socket as unknown as { _socket: Socket };
    wire.write(
      Buffer.concat([...Array.from({ length: 300 }, (_, id) => frame(netVersion(id))), closeFrame, closeFrame]),
    );
    expect((await caller.closed).code).toBe(1000);
    expect(caller.unread).toHaveLength(300);
  });

  it.each([
    ['a close frame', closeFrame],
    ['an invalid frame', frame('', 3)],
  ])('keeps nothing that follows %s', async (_, last) => {
    const connection = await openByHand();
    const received = gatewaySocket(connection) as Socket;
    // The rejected messages of the same read pause the socket before.
    connection.write(Buffer.concat([...Array.from({ length: 130 }, () => frame('{}')), last]));
    for (let count = 0; count < 20; count++) connection.write(Buffer.alloc(1_000_000));
    await eventually(() => received.bytesRead > 20_000_000);
    expect((await readMetrics(gateway.address)).value('gatehouse_buffered_bytes')).toBeLessThan(1_000_000);
    expect(received.destroyed).toBe(false);
  });

  it('may be reset by its client', async () => {
    const connection = await openByHand();
    connection.write(Buffer.concat(Array.from({ length: 10_000 }, () => frame('{}'))));
    await scenarioPause(20);
    connection.resetAndDestroy();
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });
});
