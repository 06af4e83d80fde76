import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import {
  incompleteBytes,
  joinParts,
  MAX_FRAGMENTS,
  messageEnded,
  receiverOf,
  replaceReader,
} from '../../../gateway/server/websocket/ws-internals.ts';
import { eventually } from '../../support/eventually.ts';

/** Each of these members of ws must do the same in every version that Gatehouse uses. */
let server: Server;
let client: Socket;
let socket: WebSocket;
let connection: Socket;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const opened = once(new WebSocketServer({ server, maxFragments: MAX_FRAGMENTS }), 'connection');
  server.once('upgrade', (request) => (connection = request.socket));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  client.write(
    'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  [socket] = (await opened) as [WebSocket];
});
afterEach(() => {
  client.destroy();
  socket.terminate();
  server.close();
});

/** Fragments of one byte: their masks are zero. */
function fragments(count: number, isLast = false): Buffer {
  const bytes = Buffer.from(Array.from({ length: count }, () => [0x00, 0x81, 0, 0, 0, 0, 0x31]).flat());
  bytes[0] = 0x01;
  if (isLast) bytes[7 * (count - 1)] = 0x80;
  return bytes;
}

it('ws reads a connection by one listener, which can be replaced', async () => {
  const reads: Buffer[] = [];
  const pass = replaceReader(connection, (bytes) => reads.push(bytes));
  const messages: string[] = [];
  socket.on('message', (data) => messages.push((data as Buffer).toString()));
  client.write(fragments(3, true));
  await eventually(() => reads.length === 1);
  expect(messages).toEqual([]);
  pass.call(connection, reads[0] as Buffer);
  expect(messages).toEqual(['111']);
});

it('the fragments of a message are joined, and count until it is complete', async () => {
  const receiver = receiverOf(socket);
  expect(receiver._maxFragments).toBe(MAX_FRAGMENTS);
  client.write(fragments(100));
  await eventually(() => receiver._fragments.length === 100);
  joinParts(receiver);
  expect(receiver._fragments.map(({ length }) => length)).toEqual([100]);
  expect(incompleteBytes(receiver)).toBe(100);
  expect(receiver._maxFragments).toBe(MAX_FRAGMENTS - 99);
  const message = once(socket, 'message') as Promise<[Buffer]>;
  client.write(Buffer.from([0x80, 0x81, 0, 0, 0, 0, 0x32]));
  expect((await message)[0].toString()).toBe(`${'1'.repeat(100)}2`);
  expect(incompleteBytes(receiver)).toBe(0);
  messageEnded(receiver);
  expect(receiver._maxFragments).toBe(MAX_FRAGMENTS);
});

it('the parts of an incomplete fragment are joined', async () => {
  const receiver = receiverOf(socket);
  client.setNoDelay();
  client.write(Buffer.from([0x81, 0xfe, 0x03, 0xe8, 0, 0, 0, 0]));
  for (let count = 1; count <= 40; count++) {
    client.write('x');
    await eventually(() => receiver._buffers.length === count);
  }
  joinParts(receiver);
  expect(receiver._buffers.map(({ length }) => length)).toEqual([40]);
  expect(incompleteBytes(receiver)).toBe(40);
  const message = once(socket, 'message') as Promise<[Buffer]>;
  client.write('x'.repeat(960));
  expect((await message)[0]).toHaveLength(1_000);
});
