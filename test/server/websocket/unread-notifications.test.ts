import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { Account } from '../../../gateway/admission/account.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { sentBytes } from '../../../gateway/server/http/node-internals.ts';
import { SocketBuffers, TICK_MS } from '../../../gateway/server/websocket/socket-buffers.ts';
import { eventually } from '../../support/eventually.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/** The logs of one block: 14,000 notifications of 700 bytes, each with a frame header of 4 bytes. */
const logs = Array.from({ length: 14_000 }, () => textOf(700));
const LOGS_BYTES = 14_000 * 704;
/** Block with as many bytes in fewer notifications, for speed. */
const block = Array.from({ length: 140 }, () => textOf(70_000));
const BLOCK_BYTES = 140 * 70_000;
const stalledTicks = 2_000 / TICK_MS;
const slowTicks = 30_000 / TICK_MS;

/** The result of a notification with so many bytes. */
function textOf(bytes: number): Buffer {
  return Buffer.from('x'.repeat(bytes - '}}'.length));
}

/** A Unix domain socket: the kernel buffers 0.2 MB of it, and 6 MB of a TCP connection. */
let folder: string;
let server: Server;
let webSockets: WebSocketServer;
let client: Socket;
let socket: WebSocket;
let connection: Socket;
let buffers: SocketBuffers;
let reasons: string[];

/** @param maxBytes of the memory budget */
async function open(maxBytes = 1_000_000_000): Promise<void> {
  const opened = once(webSockets, 'connection');
  client = connect(join(folder, 'socket'));
  client.write(
    'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  [socket] = (await opened) as [WebSocket];
  connection = (socket as unknown as { _socket: Socket })._socket;
  const memory = new MemoryBudget({ maxBytes, requestsMax: 10 });
  const account = new Account('key');
  buffers = new SocketBuffers(socket, connection, { memory, account, close: (reason) => reasons.push(reason) });
  connection.on('drain', () => {
    buffers.drained();
  });
}

beforeEach(async () => {
  reasons = [];
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-unread-'));
  server = createServer().listen(join(folder, 'socket'));
  webSockets = new WebSocketServer({ server, perMessageDeflate: false });
  await once(server, 'listening');
});
afterEach(() => {
  client.destroy();
  socket.terminate();
  server.close();
  rmSync(folder, { recursive: true });
});

function tick(times: number): void {
  for (let count = 0; count < times; count++) buffers.check();
}

async function untilBuffersAreFull(): Promise<void> {
  for (let before = NaN; sentBytes(connection) !== before;) {
    before = sentBytes(connection);
    await scenarioPause(50);
  }
}

/** Reads until the kernel has taken further bytes from the gateway. */
async function readSome(): Promise<void> {
  const before = sentBytes(connection);
  while (sentBytes(connection) === before) {
    client.read();
    await nextTurn();
  }
}

it('a client that reads gets the 14,000 logs of each block', async () => {
  await open();
  client.resume();
  for (let blocks = 1; blocks <= 3; blocks++) {
    // Each subscription has its own notifications.
    buffers.notify('', logs);
    buffers.notify('', logs);
    tick(stalledTicks);
    await eventually(() => client.bytesRead > 2 * blocks * LOGS_BYTES);
  }
  expect(reasons).toEqual([]);
});

it('a client that leaves 4 MB unread and reads nothing for 2 s is a slow reader', async () => {
  await open();
  buffers.notify('', block);
  buffers.notify('', block);
  await untilBuffersAreFull();
  tick(stalledTicks);
  expect(reasons).toEqual([]);
  tick(1);
  expect(reasons).toEqual(['slow-reader']);
});

it('a client that leaves less than 4 MB unread may read nothing', async () => {
  await open();
  // What the kernel buffers counts as read.
  for (let count = 0; count < 4_100_000; count += 100_000) buffers.notify('', [textOf(100_000)]);
  await untilBuffersAreFull();
  expect(socket.bufferedAmount).toBeLessThan(4_000_000);
  tick(2 * slowTicks);
  expect(reasons).toEqual([]);
});

it('a client that stays above 4 MB for 30 s is a slow reader, though it reads', async () => {
  await open();
  for (let count = 1; count <= slowTicks; count++) {
    if (buffers.notificationBytes < 2 * BLOCK_BYTES) buffers.notify('', block);
    await readSome();
    tick(1);
  }
  expect(reasons).toEqual([]);
  buffers.notify('', block);
  tick(1);
  expect(reasons).toEqual(['slow-reader']);
});

it('a client that catches up has 30 s again', async () => {
  await open();
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count <= slowTicks / 2; count++) {
      if (buffers.notificationBytes < 2 * BLOCK_BYTES) buffers.notify('', block);
      await readSome();
      tick(1);
    }
    while (buffers.notificationBytes > 0) {
      client.read();
      await nextTurn();
    }
    tick(1);
  }
  expect(reasons).toEqual([]);
});

it('a client that leaves 64 MB unread at once is a slow reader', async () => {
  await open();
  for (let sent = 0; sent < 64_000_000; sent += BLOCK_BYTES) buffers.notify('', block);
  expect(reasons).toEqual([]);
  buffers.notify('', block);
  expect(reasons).toEqual(['slow-reader']);
});

it('the memory budget is a lower bound, if it has no byte for the key', async () => {
  await open(20_000_000);
  buffers.notify('', block);
  buffers.notify('', block);
  expect(reasons).toEqual(['overloaded']);
});

it('a large result is not copied: all sockets share it', async () => {
  await open();
  const send = vi.spyOn(socket, 'send');
  const result = textOf(300_000);
  buffers.notify('{"result":', [textOf(100), result]);
  expect(send.mock.calls.map(([data]) => data)).toContain(result);
  const messages = send.mock.calls.filter(([, options]) => (options as { fin?: boolean }).fin !== false);
  expect(messages).toHaveLength(2);
});
