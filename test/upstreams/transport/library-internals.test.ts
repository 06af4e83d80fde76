import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import type { Client, Pool } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { FramingClient } from '../../../gateway/upstreams/transport/framing-client.ts';
import { incompleteBytesOf, UndiciClient, UndiciPool } from '../../../gateway/upstreams/transport/library-internals.ts';
import { eventually } from '../../support/eventually.ts';

it('the files of undici have the classes that it exports', () => {
  const require = createRequire(import.meta.url);
  const exported = require('undici') as { Client: typeof Client; Pool: typeof Pool };
  expect(UndiciClient).toBe(exported.Client);
  expect(UndiciPool).toBe(exported.Pool);
  expect(FramingClient.prototype).toBeInstanceOf(exported.Client);
});

it('ws counts the bytes of an incomplete message, from the header of its frame on', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const upgraded = once(server, 'upgrade');
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    socket.terminate();
  });
  const opened = once(socket, 'open');
  const [request, connection] = (await upgraded) as [{ headers: Record<string, string> }, Socket];
  // RFC 6455 §1.3.
  const accepted = createHash('sha1').update(
    `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
  );
  connection.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accepted.digest('base64')}\r\n\r\n`,
  );
  await opened;
  expect(incompleteBytesOf(socket)).toBe(0);
  // A text of 100 bytes that has more fragments, then one of 20 bytes, of which half is there.
  connection.write(
    Buffer.concat([Buffer.from([1, 100]), Buffer.alloc(100, 'a'), Buffer.from([0, 20]), Buffer.alloc(10, 'a')]),
  );
  await eventually(() => incompleteBytesOf(socket) === 120);
  const message = once(socket, 'message');
  connection.write(Buffer.concat([Buffer.alloc(10, 'a'), Buffer.from([0x80, 0])]));
  await message;
  expect(incompleteBytesOf(socket)).toBe(0);
});
