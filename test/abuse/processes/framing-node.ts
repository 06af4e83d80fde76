import { createServer, type Socket } from 'node:net';
import type { Traffic } from '../processes/traffic.ts';

/** What a hostile upstream sends without end around the body of its response. */
export type FramingFlood = 'informational' | 'extension';

const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1_500));
const extension = Buffer.alloc(65_536, 'b');

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
