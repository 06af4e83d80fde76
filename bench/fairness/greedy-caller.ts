import { connect, type Socket } from 'node:net';
import { HttpFrames } from '../http-frames.ts';
import { openSocket, sendText } from '../socket-frames.ts';

/**
 * One key that sends as much as 64 connections can: single requests, pipelined eightfold, batches of 50, WebSockets with
 * 20 requests in progress, and bodies of 5 MB whose last bytes do not come. It prints the number of responses by kind.
 *
 *   node dist/bench/fairness/greedy-caller.js <port> <path> <seconds>
 */
const [, , portText, path = '', secondsText] = process.argv;
const port = Number(portText);
const CONNECTIONS = { http: 14, batch: 14, webSocket: 14, slowBody: 22 };
const counts: Record<string, number> = { accepted: 0, rejected: 0, lost: 0 };
let isOver = false;
let position = 0;

function call(): string {
  const slot = `0x${(++position).toString(16)}`;
  return `{"jsonrpc":"2.0","id":${position},"method":"eth_getStorageAt","params":["0x${'12'.repeat(20)}","${slot}","latest"]}`;
}

const batch = (): string => `[${Array.from({ length: 50 }, call).join()}]`;

/** Keeps `depth` requests in progress on one connection, which is opened again when the gateway closes it. */
function sendOverHttp(body: () => string, depth: number): void {
  const socket = open();
  const send = (): void => {
    const text = body();
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${text.length}\r\n\r\n${text}`, 'latin1');
  };
  const frames = new HttpFrames(
    (head, text) => {
      count(head.startsWith('HTTP/1.1 200') && !text.includes('"error"'));
      if (!isOver) send();
    },
    () => socket.destroy(),
  );
  socket.on('data', (chunk: Buffer) => {
    frames.feed(chunk);
  });
  socket.on('close', () => {
    counts['lost'] = (counts['lost'] ?? 0) + 1;
    if (!isOver)
      setTimeout(() => {
        sendOverHttp(body, depth);
      }, 1_000);
  });
  for (let index = 0; index < depth; index++) send();
}

async function sendOverWebSocket(): Promise<void> {
  const socket = await openSocket(port, path.replace('/v3/', '/ws/v3/'), (text) => {
    count(!text.includes('"error"'));
    if (!isOver) sendText(socket, call());
  });
  socket.on('error', () => undefined);
  for (let index = 0; index < 20; index++) sendText(socket, call());
}

/** Declares 5 MB and sends all but 100,000 bytes of them, then one byte a second. */
function sendSlowBody(): void {
  const socket = open();
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n`);
  socket.write(Buffer.alloc(4_900_000, 0x20));
  const timer = setInterval(() => socket.write(' '), 1_000);
  socket.on('data', () => {
    count(false);
    socket.destroy();
  });
  socket.on('close', () => {
    clearInterval(timer);
    if (!isOver) setTimeout(sendSlowBody, 1_000);
  });
}

function open(): Socket {
  return connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
}

function count(isAccepted: boolean): void {
  const kind = isAccepted ? 'accepted' : 'rejected';
  counts[kind] = (counts[kind] ?? 0) + 1;
}

for (let index = 0; index < CONNECTIONS.http; index++) sendOverHttp(call, 8);
for (let index = 0; index < CONNECTIONS.batch; index++) sendOverHttp(batch, 1);
for (let index = 0; index < CONNECTIONS.webSocket; index++) void sendOverWebSocket();
for (let index = 0; index < CONNECTIONS.slowBody; index++) sendSlowBody();
setTimeout(
  () => {
    isOver = true;
    console.log(JSON.stringify(counts));
    process.exit();
  },
  Number(secondsText) * 1_000,
);
