import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CHUNKED_ACCOUNT,
  CODE_BYTES,
  FAILING_ACCOUNT,
  failuresOfUpstream,
  SLOW_ACCOUNT,
  SLOW_MS,
  STEERING_ACCOUNT,
  steeringMs,
  upstreamCapacity,
} from '../attacks/attack.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/*
 * The process of the upstream: node dist/test/abuse/processes/upstream.js. It has a fixed number of calls in progress, each
 * of which takes a fixed time; others wait in the order of arrival. Head polls are served at once.
 */

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

const waiting: (() => void)[] = [];
let inProgress = 0;

const code = `0x${'00'.repeat(CODE_BYTES)}`;
const word = (digit: string): string => `0x${digit.repeat(64)}`;
const FIRST_BLOCK = 16;
const startedAt = performance.now();
/** The newest block: a block every second, with as many logs as the first argument says. Without it, there is one block. */
const logsPerBlock = Number(process.argv[2] ?? 0);
/** How many calls are in progress at once, slow ones too, as the second argument says. */
const places = process.argv[3] === undefined ? undefined : Number(process.argv[3]);
const headNumber = (): number =>
  FIRST_BLOCK + (logsPerBlock > 0 ? Math.floor((performance.now() - startedAt) / 1_000) : 0);
const hex = (number: number): string => `0x${number.toString(16)}`;
/** The number is in its last 8 digits. */
const hashOf = (number: number): string => `0x${'ab'.repeat(28)}${number.toString(16).padStart(8, '0')}`;
const numberIn = (hash: string): number => Number.parseInt(hash.slice(-8), 16);
const blockOf = (number: number): object => ({
  ...{ number: hex(number), hash: hashOf(number), parentHash: hashOf(number - 1) },
  ...{ gasLimit: '0x1c9c380', gasUsed: '0x0', timestamp: hex(0x65000000 + number), transactions: [], uncles: [] },
});
const logsOf = (blockHash: string): object[] =>
  Array.from({ length: logsPerBlock }, (_, index) => ({
    ...{ address: word('a').slice(0, 42), topics: [word('d')], data: word('e'), blockHash },
    ...{ blockNumber: hex(numberIn(blockHash)), transactionHash: word('f') },
    ...{ transactionIndex: '0x0', logIndex: hex(index), removed: false },
  }));
const immediate: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
  eth_chainId: () => '0x1',
  eth_blockNumber: () => hex(headNumber()),
  eth_getBlockByNumber: ([tag]) => blockOf(String(tag).startsWith('0x') ? Number(tag) : headNumber()),
  eth_getBlockByHash: ([hash]) => blockOf(numberIn(String(hash))),
  eth_getLogs: ([filter]) => logsOf((filter as { blockHash: string }).blockHash),
};

/** Chunks of one byte each, which are written many times. */
const CHUNKS = { perWrite: 20_000, writes: 250 } as const;
const chunks = Buffer.from('1\r\n0\r\n'.repeat(CHUNKS.perWrite));

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    void respond(JSON.parse(Buffer.concat(parts).toString()) as Call | Call[], response);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());

async function respond(body: Call | Call[], response: ServerResponse): Promise<void> {
  if (!Array.isArray(body) && isChunked(body)) {
    await takePlace();
    await writeInChunks(body, response);
    return;
  }
  if (!Array.isArray(body) && calledAccount(body) === FAILING_ACCOUNT) {
    fail(body, response);
    return;
  }
  const results = await Promise.all([body].flat().map(resultOf));
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(Array.isArray(body) ? results : results[0]));
}

async function resultOf(call: Call): Promise<object> {
  const { id, method, params } = call;
  if (calledAccount(call) === SLOW_ACCOUNT) {
    if (places === undefined) await scenarioPause(SLOW_MS);
    else await takePlace(SLOW_MS);
    return { jsonrpc: '2.0', id, result: '0x' };
  }
  if (method === 'eth_getStorageAt' && params[0] === STEERING_ACCOUNT) {
    const isSlow = Math.floor((performance.now() - startedAt) / steeringMs.phase) % 2 === 0;
    await scenarioPause(isSlow ? steeringMs.slow : steeringMs.quick);
    return { jsonrpc: '2.0', id, result: params[1] };
  }
  const result = immediate[method];
  if (result !== undefined && (method !== 'eth_getLogs' || logsPerBlock > 0))
    return { jsonrpc: '2.0', id, result: result(params) };
  await takePlace();
  return { jsonrpc: '2.0', id, result: method === 'eth_getCode' ? code : params[1] };
}

/** Waits for a place, and then for the latency of the call. */
async function takePlace(ms: number = upstreamCapacity.latencyMs): Promise<void> {
  if (inProgress === (places ?? upstreamCapacity.calls)) await new Promise<void>((resolve) => waiting.push(resolve));
  else inProgress++;
  await scenarioPause(ms);
  const next = waiting.shift();
  if (next === undefined) inProgress--;
  else next();
}

function isChunked(call: Call): boolean {
  return calledAccount(call) === CHUNKED_ACCOUNT;
}

function calledAccount({ method, params }: Call): unknown {
  return method === 'eth_call' ? (params[0] as { to?: unknown }).to : undefined;
}

function fail({ id, params }: Call, response: ServerResponse): void {
  const failure = failuresOfUpstream[Number((params[0] as { data: string }).data)] ?? 0;
  if (failure === 0) response.socket?.destroy();
  else if (typeof failure === 'number')
    response.writeHead(failure, failure === 429 ? { 'Retry-After': 600 } : {}).end();
  else response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: failure } }));
}

/**
 * Writes to the connection itself: a response object would combine the chunks. The connection closes after it, because
 * Node's server would keep the responses to further requests behind the response object, which never ends.
 */
async function writeInChunks({ id }: Call, { socket }: ServerResponse): Promise<void> {
  if (socket === null) return;
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"0x`;
  const headers = 'Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked';
  socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`);
  socket.write(`${start.length.toString(16)}\r\n${start}\r\n`);
  for (let count = 0; count < CHUNKS.writes && !socket.destroyed; count++) {
    if (!socket.write(chunks))
      await new Promise<void>((resolve) => {
        onceWritable(socket, resolve);
      });
  }
  socket.end('2\r\n"}\r\n0\r\n\r\n');
}

function onceWritable(socket: NonNullable<ServerResponse['socket']>, then: () => void): void {
  const done = (): void => {
    socket.off('drain', done).off('close', done);
    then();
  };
  socket.on('drain', done).on('close', done);
}
