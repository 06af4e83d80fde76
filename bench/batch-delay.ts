import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventLoopDelays } from './event-loop-delay.ts';
import { delayProbe, readDelays } from './read-delays.ts';
import { freePorts, option, removeFolder, start, stopAll, untilReady } from './processes.ts';

/** Measures how long large batches block the gateway's event loop at a time: `npm run bench -- batches`. */
const rounds = option('rounds', 10);
/** The index of the only case to measure. Default: all cases. */
const only = option('only', -1);
const address = `0x${'11'.repeat(20)}`;
const log = {
  ...{ address, topics: [`0x${'22'.repeat(32)}`], data: `0x${'33'.repeat(64)}`, blockNumber: '0x10' },
  ...{ transactionHash: `0x${'44'.repeat(32)}`, transactionIndex: '0x0', blockHash: `0x${'55'.repeat(32)}` },
  ...{ logIndex: '0x0', removed: false },
};
const logs = (bytes: number): string =>
  JSON.stringify(Array.from({ length: Math.ceil(bytes / JSON.stringify(log).length) }, () => log));
/** Results by method or, for `eth_getLogs`, by the address in the filter. */
const results: Readonly<Record<string, string>> = {
  eth_chainId: '"0x1"',
  eth_getBlockByNumber: '{"number":"0x10","gasLimit":"0x1c9c380"}',
  [`0x${'aa'.repeat(20)}`]: logs(20_000),
  [`0x${'bb'.repeat(20)}`]: logs(1_000_000),
  [`0x${'dd'.repeat(20)}`]: '[]',
};
const word = `"0x${'00'.repeat(32)}"`;

interface Case {
  readonly name: string;
  readonly calls: number;
  readonly method: string;
  readonly params: (index: number) => readonly unknown[];
  readonly isLimited?: true;
}

const block = (index: number): string => `0x${(index + 1).toString(16)}`;
const logsOf = (digits: string) => (index: number) => [{ address: `0x${digits.repeat(20)}`, fromBlock: block(index) }];
const cases: readonly Case[] = [
  { name: 'nothing', calls: 0, method: '', params: () => [] },
  {
    name: '1,000 small calls',
    calls: 1_000,
    method: 'eth_getStorageAt',
    params: (at) => [address, block(at), 'latest'],
  },
  {
    ...{ name: '1,000 small calls of a key with a rate', calls: 1_000, method: 'eth_getStorageAt', isLimited: true },
    params: (at) => [address, block(at), 'latest'],
  },
  { name: '1,000 results of 20 kB', calls: 1_000, method: 'eth_getLogs', params: logsOf('aa') },
  { name: '20 results of 1 MB', calls: 20, method: 'eth_getLogs', params: logsOf('bb') },
  {
    ...{ name: '1,000 calls in a body of 4.9 MB', calls: 1_000, method: 'eth_call' },
    params: (at) => [{ to: address, data: `0x${'66'.repeat(2_350)}` }, block(at)],
  },
  {
    ...{ name: '1,000 calls of 100 values each', calls: 1_000, method: 'eth_getLogs' },
    params: (at) => [{ address: Array.from({ length: 100 }, () => `0x${'dd'.repeat(20)}`), fromBlock: block(at) }],
  },
  {
    ...{ name: 'one call of 4.9 MB', calls: 1, method: 'eth_call' },
    params: (at) => [{ to: address, data: `0x${'66'.repeat(2_450_000)}` }, block(at)],
  },
];

async function main(): Promise<void> {
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-batches-'));
  const upstream = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const id = /"id":(\d+)/.exec(body)?.[1] ?? 'null';
      const found = Object.keys(results).find((name) => body.slice(0, 200).includes(name));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${results[found ?? ''] ?? word}}`);
    });
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const file = { name: 'Batches', chainId: 1, upstreams: [{ name: 'node', url }] };
  writeFileSync(join(folder, 'batches.yaml'), JSON.stringify(file));
  const env = {
    ...process.env,
    ...{ PORT: String(port), NETWORKS_DIR: folder, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'error' },
  };
  const newKey = (...flags: string[]): string =>
    execFileSync(process.execPath, ['bin/gatehouse.js', 'keys', 'create', '--name', 'batches', ...flags], { env })
      .toString()
      .match(/\bgh\w{20,}|\b[0-9A-Za-z]{32,}\b/)?.[0] ?? '';
  const gateway = start(process.execPath, ['--import', delayProbe, 'bin/gatehouse.js', 'start'], env, [
    'ignore',
    'ignore',
    'inherit',
    'ipc',
  ]);
  try {
    const keys = { unlimited: newKey(), limited: newKey('--rate', '100000000') };
    await untilReady(`http://127.0.0.1:${port}/readyz`);
    for (const one of cases.filter((_, index) => only === -1 || index === only)) {
      const key = one.isLimited === true ? keys.limited : keys.unlimited;
      console.log(await measure(one, `http://127.0.0.1:${port}/batches/v3/${key}`, gateway));
    }
  } finally {
    const ended = once(gateway, 'exit');
    stopAll();
    await ended;
    upstream.close();
    upstream.closeAllConnections();
    removeFolder(folder);
  }
}

async function measure({ name, calls, method, params }: Case, url: string, gateway: ChildProcess): Promise<string> {
  const items = Array.from({ length: calls }, (_, id) => ({ jsonrpc: '2.0', id, method, params: params(id) }));
  const body = JSON.stringify(items);
  let bytes = 0;
  const post = async (): Promise<void> => {
    if (calls === 0) {
      await delay(200);
      return;
    }
    const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    const text = Buffer.from(await response.arrayBuffer());
    bytes = text.length;
    if (response.status !== 200 || text.includes('"error"'))
      throw new Error(`${name}: ${text.toString('utf8', 0, 300)}`);
  };
  // Warm-up.
  for (let round = 0; round < 3; round++) await post();
  await readDelays(gateway);
  const delays: EventLoopDelays[] = [];
  for (let round = 0; round < rounds; round++) {
    await post();
    delays.push(await readDelays(gateway));
  }
  const longest = delays.map(({ maxMs }) => maxMs).toSorted((one, other) => one - other);
  const collector = Math.max(...delays.map(({ collectorMaxMs }) => collectorMaxMs));
  const over = (limit: keyof EventLoopDelays['over']): number => delays.reduce((sum, one) => sum + one.over[limit], 0);
  const sizes = `request ${(body.length / 1e6).toFixed(1)} MB, response ${(bytes / 1e6).toFixed(1)} MB`;
  const steps = (['2', '5', '10', '20'] as const).map((limit) => `>${limit} ms: ${over(limit)}`);
  const [median = 0, worst = 0] = [longest[longest.length >> 1], longest.at(-1)];
  const figures = `longest ${median.toFixed(1)} ms (median), ${worst.toFixed(1)} (worst)`;
  return `${name} (${sizes}): ${figures}; ${steps.join(', ')}; garbage collection ${collector.toFixed(1)} ms; ${rounds} rounds`;
}

await main();
