import { mkdtempSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { table } from '../schemas/markdown-table.ts';
import { median, show } from './figures.ts';
import {
  cpuMicroseconds,
  freePorts,
  node,
  option,
  removeFolder,
  start,
  stop,
  stopAll,
  untilOpen,
} from './processes.ts';
import { startBareProxy, type Reference } from './references.ts';
import { startGateway } from './start-gateway.ts';
import { ethCalls, SLOT, slotOf } from './wallet-calls.ts';

/**
 * Measures the start of a process until its first response, and what its first 1,000 eth_calls cost beside later ones, in which its code
 * is compiled: of the gateway and of a bare Node proxy in the same rounds.
 *
 *   npm run bench -- --scenario start
 */
const COLD_CALLS = 1_000;
const WARM_UP_CALLS = 20_000;
const WARM_CALLS = 5_000;
const CONNECTIONS = 64;
const rounds = option('rounds', 5);

interface Cold {
  /** ms from the start of the process to its first response, and its CPU time in ms until then. */
  readonly startMs: number;
  readonly startCpuMs: number;
  /** CPU µs per call. */
  readonly coldUs: number;
  readonly warmUs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const [upstream = 0] = await freePorts(1);
start(node, [join(dirname(fileURLToPath(import.meta.url)), 'fixed-upstream.js'), String(upstream)]);
await untilOpen(upstream);
let sent = 0;
try {
  const measured: Record<'Gatehouse' | 'bare Node proxy', Cold[]> = { Gatehouse: [], 'bare Node proxy': [] };
  for (let round = 0; round < rounds; round++) {
    measured.Gatehouse.push(await measureGateway(join(folder, String(round))));
    const bare = await startBareProxy(upstream);
    measured['bare Node proxy'].push(await measure({ ...bare, path: '/' }));
    process.kill(bare.pid);
  }
  print(measured);
} finally {
  stopAll();
  removeFolder(folder);
}

async function measureGateway(data: string): Promise<Cold> {
  const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${upstream}` }];
  const { port, pid, paths, child } = await startGateway(data, {
    networks: { bench: { name: 'Bench', chainId: 1, upstreams } },
  });
  try {
    return await measure({ port, pid, path: paths[0] ?? '' });
  } finally {
    await stop(child);
  }
}

async function measure(endpoint: Required<Reference>): Promise<Cold> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  try {
    await call(endpoint, agent);
    const startMs = ageMs(endpoint.pid);
    const startCpuMs = cpuMicroseconds(endpoint.pid) / 1_000;
    const coldUs = await costOf(COLD_CALLS, endpoint, agent);
    await costOf(WARM_UP_CALLS, endpoint, agent);
    return { startMs, startCpuMs, coldUs, warmUs: await costOf(WARM_CALLS, endpoint, agent) };
  } finally {
    agent.destroy();
  }
}

/** @returns CPU µs per call */
async function costOf(count: number, endpoint: Required<Reference>, agent: Agent): Promise<number> {
  const before = cpuMicroseconds(endpoint.pid);
  let left = count;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call(endpoint, agent);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  return (cpuMicroseconds(endpoint.pid) - before) / count;
}

async function call({ port, path }: Required<Reference>, agent: Agent): Promise<void> {
  const { method, params, result } = ethCalls[0] ?? { method: '', params: '', result: '' };
  const slot = slotOf(++sent);
  const headers = { 'content-type': 'application/json' };
  const response = await new Promise<string>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, agent, method: 'POST', headers }, (incoming) => {
      text(incoming).then(resolve, reject);
    });
    outgoing.on('error', reject);
    outgoing.end(`{"jsonrpc":"2.0","id":${sent},"method":"${method}","params":${params.replaceAll(SLOT, slot)}}`);
  });
  if (!response.includes(result.replaceAll(SLOT, slot))) throw new Error(`no result: ${response}`);
}

/** Time since a process was started, from clock ticks (100 per second on Linux). */
function ageMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  const [uptimeS = ''] = readFileSync('/proc/uptime', 'utf8').split(' ');
  return Number(uptimeS) * 1_000 - Number(fields[19]) * 10;
}

function print(measured: Readonly<Record<string, readonly Cold[]>>): void {
  const rows = Object.entries(measured).map(([name, all]) => {
    const of = (value: (one: Cold) => number): number => median(all.map(value));
    const ratio = of(({ coldUs, warmUs }) => coldUs / warmUs);
    const figures = { name, ratio, startMs: of((one) => one.startMs), startCpuMs: of((one) => one.startCpuMs) };
    return { ...figures, coldUs: of((one) => one.coldUs), warmUs: of((one) => one.warmUs) };
  });
  const [own, bare] = rows;
  console.log(
    table([
      ['', 'start to first response', 'CPU until then', 'first 1,000 eth_calls, CPU per call', 'later ones', 'ratio'],
      ...rows.map(({ name, startMs, startCpuMs, coldUs, warmUs, ratio }) => [
        name,
        `${Math.round(startMs)} ms`,
        `${Math.round(startCpuMs)} ms`,
        ...[coldUs, warmUs].map((us) => `${show(us)} µs`),
        show(ratio),
      ]),
    ]),
  );
  console.log(
    `\nThe ratio of Gatehouse is ${show((own?.ratio ?? NaN) / (bare?.ratio ?? NaN))} × that of the bare proxy.`,
  );
}
