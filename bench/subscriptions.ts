import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { packageRoot } from '../gateway/config/package.ts';
import { writeTable } from '../test/support/page-table.ts';
import { live } from './busy-sockets.ts';
import { addressOf, growingChain } from './growing-chain.ts';
import { cpuMicroseconds, freePorts, option, pidOf, start, stopAll, untilReady } from './processes.ts';

/**
 * What subscribers cost the gateway: memory of sockets at rest, those of callers who subscribe and ask beside them, and
 * CPU and memory of notifications to many. Every notification and answer is counted. Linux only: CPU time and memory are
 * read from /proc.
 *
 *   npm run bench:sockets [-- --idle 5000 --busy 500 --seconds 20 --subscribers 1000 --blocks 20]
 */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const chain = growingChain();
const page = join(packageRoot, 'docs/websocket.md');
// Whatever ends this.
process.once('exit', () => {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
});
await run(option('idle', 5_000), option('busy', 500), option('seconds', 20));
stopAll();
chain.server.close();
chain.server.closeAllConnections();

async function run(idle: number, busy: number, seconds: number): Promise<void> {
  const { url, pid } = await startGateway();
  console.log(`${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}\n`);
  // The first fill what start left behind.
  const first = await openAll(url, 1_000);
  const before = memory(pid);
  const cpu = cpuMicroseconds(pid);
  const sockets = await openAll(url, idle);
  await delay(5_000);
  const rested = cpuMicroseconds(pid);
  await delay(10_000);
  const idleCpu = (cpuMicroseconds(pid) - rested) / 10;
  const held = memory(pid);
  const each = `${((held - before) / idle).toFixed(1)} kB`;
  console.log(`${idle} idle sockets: ${each} each, ${((rested - cpu) / idle).toFixed(0)} CPU-µs to open one\n`);

  const callers = await openAll(url, busy);
  const began = cpuMicroseconds(pid);
  const counts = await live(callers, seconds, () => chain.grow());
  const busyCpu = (cpuMicroseconds(pid) - began) / seconds;
  const [told, answered] = [counts.told.toLocaleString('en'), counts.answered.toLocaleString('en')];
  tell('sockets', [
    [
      'sockets',
      'memory of the process',
      'per socket',
      'CPU of a core',
      'notifications',
      'responses',
      'response time, p50',
      'p99',
      'lost or wrong',
    ],
    [`${idle} idle, besides 1000`, mb(held), each, share(idleCpu), ...Array<string>(5).fill('')],
    [
      `${busy} busy besides those`,
      mb(memory(pid)),
      `${((memory(pid) - held) / busy).toFixed(1)} kB`,
      ...[share(busyCpu), told, answered, `${counts.p50Ms.toFixed(1)} ms`, `${counts.p99Ms.toFixed(1)} ms`],
      String(counts.faults),
    ],
  ]);
  await closeAll([...first, ...sockets, ...callers]);
  await toMany(url, pid, option('subscribers', 1_000), option('blocks', 20));
}

/** Shows a table, and with `--write` puts it into the page. */
function tell(name: string, rows: readonly (readonly string[])[]): void {
  console.log(`${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
  if (process.argv.includes('--write')) writeTable(page, name, rows, 'npm run bench:sockets');
}

async function toMany(url: string, pid: number, subscribers: number, blocks: number): Promise<void> {
  const rows = [
    await measure('newHeads', url, pid, subscribers, blocks, () => ['newHeads']),
    await measure('logs, one of 200', url, pid, subscribers, blocks, (index) => [
      ...['logs', { address: addressOf(index % 200) }],
    ]),
    await measure('logs, all of 200', url, pid, Math.ceil(subscribers / 20), blocks, () => ['logs', {}]),
  ];
  const heading = [
    'subscribers to',
    'notifications',
    'CPU-µs per notification',
    'bytes per notification',
    'delivery to all per block',
  ];
  tell('notifications', [heading, ...rows]);
}

async function measure(
  name: string,
  url: string,
  pid: number,
  subscribers: number,
  blocks: number,
  params: (index: number) => unknown[],
): Promise<string[]> {
  const sockets = await openAll(url, subscribers);
  let told = 0;
  let bytes = 0;
  await Promise.all(
    sockets.map(async (socket, index) => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: params(index) }));
      await once(socket, 'message');
      socket.on('message', (data) => {
        told++;
        bytes += (data as Buffer).length;
      });
    }),
  );
  const perBlock = name === 'logs, all of 200' ? 200 * subscribers : subscribers;
  const cpu = cpuMicroseconds(pid);
  let took = 0;
  for (let block = 1; block <= blocks; block++) {
    chain.grow();
    const first = told;
    while (told === first) await delay(1);
    const from = performance.now();
    while (told < block * perBlock) await delay(1);
    took += performance.now() - from;
  }
  const spent = cpuMicroseconds(pid) - cpu;
  await closeAll(sockets);
  const cells = [(spent / told).toFixed(1), (bytes / told).toFixed(0), `${(took / blocks).toFixed(1)} ms`];
  return [`${subscribers} × ${name}`, told.toLocaleString('en'), ...cells];
}

async function openAll(url: string, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  for (let from = 0; from < count; from += 100) {
    const some = Array.from({ length: Math.min(100, count - from) }, () => new WebSocket(url));
    await Promise.all(some.map((socket) => once(socket, 'open')));
    sockets.push(...some);
  }
  return sockets;
}

async function closeAll(sockets: readonly WebSocket[]): Promise<void> {
  for (const socket of sockets) socket.terminate();
  await delay(1_000);
}

async function startGateway(): Promise<{ url: string; pid: number }> {
  chain.server.listen(0, '127.0.0.1');
  await once(chain.server, 'listening');
  const { port: upstream } = chain.server.address() as AddressInfo;
  const network = { name: 'Bench', chainId: 1, upstreams: [{ name: 'growing', url: `http://127.0.0.1:${upstream}` }] };
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(network));
  const dataDir = join(folder, 'data');
  const [port = 0] = await freePorts(1);
  const own = { PORT: String(port), NETWORKS_DIR: folder, DATA_DIR: dataDir, LOG_LEVEL: 'error' };
  const env = { ...process.env, ...own, WS_SOCKETS_PER_KEY: '20000' };
  const main = join(dirname(fileURLToPath(import.meta.url)), '../gateway/main.js');
  const gateway = start(process.execPath, [main], env);
  await untilReady(`http://127.0.0.1:${port}/readyz`);
  const key = readFileSync(join(dataDir, 'development-key'), 'utf8').trim();
  return { url: `ws://127.0.0.1:${port}/bench/ws/v3/${key}`, pid: pidOf(gateway) };
}

function mb(kilobytes: number): string {
  return `${(kilobytes / 1_000).toFixed(0)} MB`;
}

/** @param microseconds of CPU time a second */
function share(microseconds: number): string {
  return `${(microseconds / 10_000).toFixed(1)} %`;
}

/** Resident memory in kB. */
function memory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
