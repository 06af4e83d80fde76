import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { packageRoot } from '../gateway/config/package.ts';
import { writeTable } from '../test/support/page-table.ts';
import { runClients } from './busy-sockets.ts';
import { addressOf, growingChain } from './growing-chain.ts';
import { cpuMicroseconds, freePorts, option, pidOf, removeFolder, start, stopAll, untilReady } from './processes.ts';

/**
 * Measures what subscribers cost the gateway: memory of idle sockets, memory and CPU of clients that subscribe and send
 * calls, and CPU of notifications to many subscribers. Every notification and response is counted. Linux only: CPU time
 * and memory are from /proc.
 *
 *   npm run bench -- sockets [--idle 5000 --busy 500 --seconds 20 --subscribers 1000 --blocks 20 --websocket]
 *
 * With `--websocket`, the upstream sends its heads over WebSocket, so that no time between polls counts.
 */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const chain = growingChain();
const page = join(packageRoot, 'docs/measured/websocket.md');
// Also runs if the measurement fails.
process.once('exit', () => {
  stopAll();
  removeFolder(folder);
});
await run(option('idle', 5_000), option('busy', 500), option('seconds', 20));
stopAll();
chain.server.close();
chain.server.closeAllConnections();

async function run(idle: number, busy: number, seconds: number): Promise<void> {
  const { url, pid } = await startGateway();
  console.log(`${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}\n`);
  // The first sockets reuse memory that the start has freed.
  const first = await openAll(url, 1_000);
  const before = memory(pid);
  const cpu = cpuMicroseconds(pid);
  const sockets = await openAll(url, idle);
  await delay(5_000);
  const openedCpu = cpuMicroseconds(pid);
  await delay(10_000);
  const idleCpu = (cpuMicroseconds(pid) - openedCpu) / 10;
  const idleMemory = memory(pid);
  const each = `${((idleMemory - before) / idle).toFixed(1)} kB`;
  console.log(`${idle} idle sockets: ${each} each, ${((openedCpu - cpu) / idle).toFixed(0)} CPU-µs to open one\n`);

  const clients = await openAll(url, busy);
  const startCpu = cpuMicroseconds(pid);
  const counts = await runClients(clients, seconds, () => chain.grow());
  const busyCpu = (cpuMicroseconds(pid) - startCpu) / seconds;
  const [notifications, responses] = [counts.notifications, counts.responses].map((count) =>
    count.toLocaleString('en'),
  );
  printTable('sockets', [
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
    [`${idle} idle, besides 1000`, mb(idleMemory), each, share(idleCpu), ...Array<string>(5).fill('')],
    [
      `${busy} busy besides those`,
      mb(memory(pid)),
      `${((memory(pid) - idleMemory) / busy).toFixed(1)} kB`,
      ...[
        share(busyCpu),
        notifications ?? '',
        responses ?? '',
        `${counts.p50Ms.toFixed(1)} ms`,
        `${counts.p99Ms.toFixed(1)} ms`,
      ],
      String(counts.faults),
    ],
  ]);
  await closeAll([...first, ...sockets, ...clients]);
  await measureNotifications(url, pid, option('subscribers', 1_000), option('blocks', 20));
}

/** Prints a table, and writes it into the page with `--write`. */
function printTable(name: string, rows: readonly (readonly string[])[]): void {
  console.log(`${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
  if (process.argv.includes('--write')) writeTable(page, name, rows, 'npm run bench -- sockets');
}

async function measureNotifications(url: string, pid: number, subscribers: number, blocks: number): Promise<void> {
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
    'CPU-ms per block',
    'first one after the block',
    'last one',
  ];
  printTable('notifications', [heading, ...rows]);
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
  let notifications = 0;
  let bytes = 0;
  const subscribe = async (socket: WebSocket, index: number): Promise<void> => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: params(index) }));
    const [response] = (await once(socket, 'message')) as [Buffer];
    if (!response.includes('"result"')) throw new Error(response.toString());
    socket.on('message', (data) => {
      notifications++;
      bytes += (data as Buffer).length;
    });
  };
  // One key may have 256 requests in flight.
  for (let from = 0; from < subscribers; from += 200)
    await Promise.all(sockets.slice(from, from + 200).map((socket, index) => subscribe(socket, from + index)));
  const perBlock = name === 'logs, all of 200' ? 200 * subscribers : subscribers;
  // The first block is slower.
  chain.grow();
  while (notifications < perBlock) await nextTurn();
  await delay(100);
  notifications = bytes = 0;
  const cpu = cpuMicroseconds(pid);
  const after = { first: 0, last: 0 };
  for (let block = 1; block <= blocks; block++) {
    const before = notifications;
    const grownAt = performance.now();
    chain.grow();
    while (notifications === before) await nextTurn();
    after.first += performance.now() - grownAt;
    while (notifications < block * perBlock) await nextTurn();
    after.last += performance.now() - grownAt;
    // The gateway is idle before the next block.
    await delay(100);
  }
  const spent = cpuMicroseconds(pid) - cpu;
  await closeAll(sockets);
  const perNotification = [(spent / notifications).toFixed(1), (bytes / notifications).toFixed(0)];
  const cells = [
    ...[...perNotification, (spent / 1_000 / blocks).toFixed(0)],
    ...[`${(after.first / blocks).toFixed(1)} ms`, `${(after.last / blocks).toFixed(1)} ms`],
  ];
  return [`${subscribers} × ${name}`, notifications.toLocaleString('en'), ...cells];
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
  const address = { url: `http://127.0.0.1:${upstream}` };
  const webSocket = process.argv.includes('--websocket') ? { websocketUrl: `ws://127.0.0.1:${upstream}` } : {};
  const network = { name: 'Bench', chainId: 1, upstreams: [{ name: 'growing', ...address, ...webSocket }] };
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(network));
  const dataDir = join(folder, 'data');
  const [port = 0] = await freePorts(1);
  const own = { PORT: String(port), NETWORKS_DIR: folder, DATA_DIR: dataDir, LOG_LEVEL: 'error' };
  const env = { ...process.env, ...own };
  const main = join(dirname(fileURLToPath(import.meta.url)), '../bundle/main.js');
  const gateway = start(process.execPath, [main, 'start'], env);
  await untilReady(`http://127.0.0.1:${port}/readyz`);
  const create = [main, 'keys', 'create', '--name', 'bench', '--sockets', '20000', '--json'];
  const { key } = JSON.parse(execFileSync(process.execPath, create, { env }).toString()) as { key: string };
  return { url: `ws://127.0.0.1:${port}/bench/ws/v3/${key}`, pid: pidOf(gateway) };
}

function mb(kilobytes: number): string {
  return `${(kilobytes / 1_000).toFixed(0)} MB`;
}

/** @param microseconds of CPU time per second */
function share(microseconds: number): string {
  return `${(microseconds / 10_000).toFixed(1)} %`;
}

/** Resident memory in kB. */
function memory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
