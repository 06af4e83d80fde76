import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { heads } from '../wallet-calls.ts';

/**
 * A node with a fixed capacity, over HTTP and WebSocket: it works on `slots` calls at a time, each for `latencyMs`, and
 * queues the others in order of arrival. It responds to the gateway's polls at once.
 *
 *   node dist/bench/fairness/slow-upstream.js <port> <slots> <latencyMs>
 */
const [port = 0, slots = 64, latencyMs = 100] = process.argv.slice(2).map(Number);

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const queue: (() => void)[] = [];
let working = 0;

function work(end: () => void): void {
  working++;
  setTimeout(() => {
    working--;
    queue.shift()?.();
    end();
  }, latencyMs);
}

function respondTo({ id, method, params }: Call): Promise<string> {
  const respond = (result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  if (method === 'eth_chainId') return Promise.resolve(respond('"0x1"'));
  if (method === 'eth_getBlockByNumber')
    return Promise.resolve(respond(params[0] === 'latest' ? heads.latest : heads.finalized));
  return new Promise((resolve) => {
    const begin = (): void => {
      work(() => {
        resolve(respond(`"0x${'0'.repeat(64)}"`));
      });
    };
    if (working < slots) begin();
    else queue.push(begin);
  });
}

async function respondToText(text: string): Promise<string> {
  const body = JSON.parse(text) as Call | Call[];
  return Array.isArray(body) ? `[${(await Promise.all(body.map(respondTo))).join(',')}]` : respondTo(body);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    void respondToText(Buffer.concat(chunks).toString()).then((text) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
    });
  });
});
new WebSocketServer({ server }).on('connection', (socket) => {
  socket.on('message', (data) => {
    void respondToText((data as Buffer).toString()).then((text) => {
      socket.send(text);
    });
  });
});
server.listen(port, '127.0.0.1');
