import { createServer, type Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Traffic } from '../processes/traffic.ts';

/** What a hostile upstream sends without end around the body of its response. */
export type FramingFlood = 'informational' | 'extension';

const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1_500));
const extension = Buffer.alloc(65_536, 'b');

/** Frames without a body (RFC 6455 §5.2): the start of a message, and then a ping, a pong and a fragment in turn. */
const firstFrame = Buffer.from([0x01, 0]);
const emptyFrames = Buffer.from(Array.from({ length: 10_000 }, () => [0x89, 0, 0x8a, 0, 0x00, 0]).flat());

/** An upstream of another network over WebSocket. It serves its chain id and its head, and floods each `eth_call`. */
export function startFrameFloodNode(port: number, chainId: number, traffic: Traffic): void {
  new WebSocketServer({ port, host: '127.0.0.1' }).on('connection', (socket, { socket: connection }) => {
    traffic.opened();
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const { id, method } = JSON.parse((data as Buffer).toString()) as { id: unknown; method: string };
      if (method === 'eth_call') {
        connection.write(firstFrame);
        writeForEver(connection, emptyFrames, traffic);
        return;
      }
      const result = method === 'eth_chainId' ? `0x${chainId.toString(16)}` : null;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
}

/** An upstream of another network over HTTP. It serves its chain id and its head, and floods each `eth_call`. */
export function startFramingNode(port: number, chainId: number, flood: FramingFlood, traffic: Traffic): void {
  createServer((socket) => {
    traffic.opened();
    let received = '';
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      received += data.toString('latin1');
      const end = received.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (end < 4 || received.length < end + length) return;
      const { id, method } = JSON.parse(received.slice(end, end + length)) as { id: unknown; method: string };
      received = received.slice(end + length);
      if (method === 'eth_call') {
        if (flood === 'extension') socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=');
        writeForEver(socket, flood === 'extension' ? extension : hints, traffic);
        return;
      }
      const result = method === 'eth_chainId' ? `0x${chainId.toString(16)}` : null;
      const text = JSON.stringify({ jsonrpc: '2.0', id, result });
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      );
    });
  }).listen(port, '127.0.0.1');
}

function writeForEver(socket: Socket, bytes: Buffer, traffic: Traffic): void {
  const write = (): void => {
    if (socket.destroyed) return;
    traffic.sent(bytes.length);
    if (socket.write(bytes)) setImmediate(write);
    else socket.once('drain', write);
  };
  write();
}
