import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { json } from 'node:stream/consumers';
import { packageRoot } from '../gateway/config/package.ts';
import type { EventLoopDelays } from './event-loop-delay.ts';
import { median, show } from './figures.ts';
import { option, removeFolder, stopAll } from './processes.ts';
import { delayProbe, readDelays } from './read-delays.ts';
import { startGateway, type StartedGateway } from './start-gateway.ts';
import { heads, longTraces, SLOT, slotOf } from './wallet-calls.ts';

/**
 * Measures how large results flow: the longest turn of the gateway's event loop while several clients get traces of 5 MB
 * from an upstream that sends 64 kB and then waits 1 ms, and when their first byte arrives. Each result is compared with the expected one.
 *
 *   npm run build && node dist/bench/flowing-results.js [--rounds 20 --clients 4]
 */
const CHUNK_BYTES = 65_536;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const [rounds, clients] = [option('rounds', 20), option('clients', 4)];
/** Times of the first and the last byte that the upstream sent for a call, by its slot. */
const sentAt = new Map<string, { first: number; last: number }>();
const upstream = startUpstream();
await once(upstream, 'listening');
try {
  await main(await start());
} finally {
  stopAll();
  upstream.close();
  upstream.closeAllConnections();
  removeFolder(folder);
}

function startUpstream(): Server {
  return createServer((incoming, response) => {
    void respond(incoming, response);
  }).listen(0, '127.0.0.1');
}

async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, method, params } = (await json(incoming)) as { id: number; method: string; params: string[] };
  response.writeHead(200, { 'content-type': 'application/json' });
  const textOf = (result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  if (method !== 'debug_traceTransaction') {
    response.end(textOf(method === 'eth_chainId' ? '"0x1"' : heads.latest));
    return;
  }
  const slot = params[0]?.slice(-SLOT.length) ?? '';
  const text = textOf(traceOf(slot));
  const times = { first: performance.now(), last: Infinity };
  sentAt.set(slot, times);
  for (let at = 0; at < text.length; at += CHUNK_BYTES) {
    if (!response.write(text.slice(at, at + CHUNK_BYTES))) await once(response, 'drain');
    times.last = performance.now();
    await delay(1);
  }
  response.end();
}

function start(): Promise<StartedGateway> {
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const methods = ['eth', 'debug_traceTransaction'];
  return startGateway(folder, {
    networks: { bench: { name: 'Bench', chainId: 1, methods, upstreams: [{ name: 'slow', url }] } },
    script: ['--import', delayProbe, join(packageRoot, 'dist/bundle/main.js')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

async function main(gateway: StartedGateway): Promise<void> {
  let calls = 0;
  // Responses are compared when all of them have arrived.
  const together = async (): Promise<Times[]> =>
    (await Promise.all(Array.from({ length: clients }, () => fetchTrace(gateway, slotOf(++calls))))).map((check) =>
      check(),
    );
  // Warm-up.
  for (let round = 0; round < 5; round++) await together();
  const turns: EventLoopDelays[] = [];
  const times: Times[] = [];
  for (let round = 0; round < rounds; round++) {
    await readDelays(gateway.child);
    times.push(...(await together()));
    turns.push(await readDelays(gateway.child));
  }
  const longest = turns.map(({ maxMs }) => maxMs);
  const of = (pick: (one: Times) => number): string => `${show(median(times.map(pick)))} ms`;
  const rows = [
    [
      'traces of 5 MB',
      'longest turn of a round, CPU, median',
      'longest of all',
      'longest garbage collection, by the clock',
      'first byte, after the upstream’s first one',
      'the upstream’s last byte, after its first one',
    ],
    [
      ...[
        `${clients} at a time, ${times.length} in all`,
        `${show(median(longest))} ms`,
        `${show(Math.max(...longest))} ms`,
        `${show(Math.max(...turns.map(({ collectorMaxMs }) => collectorMaxMs)))} ms`,
      ],
      ...[of(({ firstMs }) => firstMs), of(({ upstreamMs }) => upstreamMs)],
    ],
  ];
  console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
}

interface Times {
  /** Time from the upstream's first byte to the client's. */
  readonly firstMs: number;
  /** Time from the upstream's first byte to its last. */
  readonly upstreamMs: number;
}

/** The response of one call, and when it arrived. */
async function fetchTrace({ port, paths: [path = ''] }: StartedGateway, slot: string): Promise<() => Times> {
  const params = longTraces[0]?.params.replace(SLOT, slot) ?? '';
  const sent = request({ port, path, method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
  sent.end(`{"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":${params}}`);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  let firstAt = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (chunks.length === 0) firstAt = performance.now();
    chunks.push(chunk);
  }
  return () => {
    const times = sentAt.get(slot);
    const isCorrect = Buffer.concat(chunks).toString('latin1') === `{"jsonrpc":"2.0","id":1,"result":${traceOf(slot)}}`;
    if (times === undefined || !isCorrect) throw new Error(`a wrong response: HTTP ${response.statusCode ?? '?'}`);
    return { firstMs: firstAt - times.first, upstreamMs: times.last - times.first };
  };
}

function traceOf(slot: string): string {
  return longTraces[0]?.result.replaceAll(SLOT, slot) ?? '';
}
