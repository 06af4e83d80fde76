import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { addressOf, growingChain } from './growing-chain.ts';

/**
 * What subscribers cost the gateway: memory of sockets at rest, and CPU and memory of notifications to many. Every
 * notification is counted. Linux only: CPU time and memory are read from /proc.
 *
 *   npm run build && node dist/bench/subscriptions.js [--idle 5000] [--subscribers 1000] [--blocks 20]
 */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const chain = growingChain();
let gateway: ChildProcess | undefined;
try {
  await run(option('idle', 5_000), option('subscribers', 1_000), option('blocks', 20));
} finally {
  gateway?.kill('SIGTERM');
  chain.server.close();
  rmSync(folder, { recursive: true, force: true });
}

async function run(idle: number, subscribers: number, blocks: number): Promise<void> {
  const { url, pid } = await start();
  console.log(`${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}\n`);
  // The first fill what start left behind.
  const first = await openAll(url, 1_000);
  const before = memory(pid);
  const cpu = cpuMicroseconds(pid);
  const sockets = await openAll(url, idle);
  await delay(5_000);
  const rested = cpuMicroseconds(pid);
  await delay(10_000);
  const [each, restCpu] = [(memory(pid) - before) / idle, (cpuMicroseconds(pid) - rested) / 10];
  console.log(
    `${idle} idle sockets: ${each.toFixed(1)} kB each, ${(restCpu / 10_000).toFixed(1)} % of a core at rest,`,
  );
  console.log(`  ${((rested - cpu) / idle).toFixed(0)} CPU-µs to open one\n`);
  await closeAll([...first, ...sockets]);
  console.log(
    '| subscribers to | notifications | CPU-µs each | bytes each | memory kB a subscriber | ms to all of a block |',
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  await measure('newHeads', url, pid, subscribers, blocks, () => ['newHeads']);
  await measure('logs, one of 200', url, pid, subscribers, blocks, (index) => [
    ...['logs', { address: addressOf(index % 200) }],
  ]);
  await measure('logs, all of 200', url, pid, Math.ceil(subscribers / 20), blocks, () => ['logs', {}]);
}

async function measure(
  name: string,
  url: string,
  pid: number,
  subscribers: number,
  blocks: number,
  params: (index: number) => unknown[],
): Promise<void> {
  const before = memory(pid);
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
  const grown = (memory(pid) - before) / subscribers;
  const cells = [(spent / told).toFixed(1), (bytes / told).toFixed(0), grown.toFixed(1), (took / blocks).toFixed(1)];
  console.log(`| ${subscribers} × ${name} | ${told} | ${cells.join(' | ')} |`);
  await closeAll(sockets);
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

async function start(): Promise<{ url: string; pid: number }> {
  chain.server.listen(0, '127.0.0.1');
  await once(chain.server, 'listening');
  const { port: upstream } = chain.server.address() as AddressInfo;
  const network = { name: 'Bench', chainId: 1, upstreams: [{ name: 'growing', url: `http://127.0.0.1:${upstream}` }] };
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(network));
  const dataDir = join(folder, 'data');
  const port = await freePort();
  const own = { PORT: String(port), NETWORKS_DIR: folder, DATA_DIR: dataDir, LOG_LEVEL: 'error' };
  const env = { ...process.env, ...own, WS_SOCKETS_PER_KEY: '20000' };
  const main = join(dirname(fileURLToPath(import.meta.url)), '../gateway/main.js');
  gateway = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  for (let round = 0; round < 100 && !(await isReady(port)); round++) await delay(200);
  if (gateway.pid === undefined || gateway.exitCode !== null) throw new Error('the gateway did not start');
  const key = readFileSync(join(dataDir, 'development-key'), 'utf8').trim();
  return { url: `ws://127.0.0.1:${port}/bench/ws/v3/${key}`, pid: gateway.pid };
}

async function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Resident memory in kB. */
function memory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** User and system time of a process, from its clock ticks (100 a second on Linux). */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
}
