import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { packageRoot } from '../../gateway/config/package.ts';
import { writeTable } from '../../test/support/page-table.ts';
import { CheckedCalls } from '../checked-calls.ts';
import { FixedUpstream } from '../fixed-upstream.ts';
import { LoadGenerator } from '../load.ts';
import { readMeasures } from '../measures.ts';
import { cpuMicroseconds, option, removeFolder, stop, stopAll } from '../processes.ts';
import { startGateway, type StartedGateway } from '../start-gateway.ts';
import { walletMix } from '../wallet-calls.ts';
import { capacityRows, type CapacityRound } from './capacity-rows.ts';

/**
 * Measures the capacity of one core and the memory of one more key, network and socket, and writes the table of
 * docs/scaling.md. Linux only: CPU time is from /proc. Takes about a minute per round.
 *
 *   npm run bench -- capacity --rounds 3 [--seconds 3 --keys 10000 --networks 200 --sockets 2000 --print]
 */
const counts = { keys: option('keys', 10_000), networks: option('networks', 200), sockets: option('sockets', 2_000) };
/** The first sockets reuse memory that the start has freed. */
const FIRST_SOCKETS = 500;
/** CPU time of the gateway before it is measured, in which its code is compiled. */
const WARMUP_S = 3;
/** Minimum on a machine with other load, a few calls may be rejected. */
const MIN_CORRECT_PER_INCORRECT = 500;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-capacity-'));
const upstream = new FixedUpstream();
const upstreamPort = await upstream.listen();
let gateways = 0;
// Also runs if the measurement fails.
process.once('exit', () => {
  stopAll();
  removeFolder(folder);
});

const load = `load average ${(loadavg()[0] ?? 0).toFixed(1)} on ${cpus().length} cores, before the start`;
const rounds: CapacityRound[] = [];
for (let round = 0; round < option('rounds', 3); round++) {
  rounds.push(await measureRound(option('seconds', 3)));
  console.error(`round ${round + 1}: ${JSON.stringify(rounds.at(-1))}`);
}
const rows = capacityRows(rounds, counts, load);
console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
if (!process.argv.includes('--print')) {
  const command = ['npm run bench -- capacity', ...process.argv.slice(2)];
  const page = join(packageRoot, 'docs/scaling.md');
  writeTable(page, 'capacity', rows, command.join(' '));
  // Not by the npm script, which would give prettier the options of this command.
  execFileSync(join(packageRoot, 'node_modules/.bin/prettier'), ['--write', '--log-level', 'warn', page]);
}
stopAll();
upstream.close();

async function measureRound(seconds: number): Promise<CapacityRound> {
  const one = await start({ networks: 1, keys: 1 });
  let warmedS = 0;
  while (warmedS < Math.min(WARMUP_S, seconds)) warmedS += (await saturate(one, seconds)).cpuS;
  const started = await memoryOf(one);
  const { cpuS, calls, incorrect } = await saturate(one, seconds);
  if (incorrect > calls / MIN_CORRECT_PER_INCORRECT)
    throw new Error(`${incorrect} calls besides ${calls} were not correct`);
  await stop(one.child);
  // Another one: after load, the process gives memory back meanwhile.
  const idle = await start({ networks: 1, keys: 1 });
  const bytesPerSocket = await measureSockets(idle);
  await stop(idle.child);

  const addedBy = async (parts: { networks: number; keys: number }, added: number): Promise<number> => {
    const gateway = await start(parts);
    // Each path once: afterwards each key and network is in memory. Then the same load as before.
    await useEach(gateway);
    warmedS = 0;
    while (warmedS < Math.min(WARMUP_S, seconds)) warmedS += (await saturate(gateway, seconds)).cpuS;
    const { usedBytes } = await memoryOf(gateway);
    await stop(gateway.child);
    return (usedBytes - started.usedBytes) / added;
  };
  return {
    callsPerCore: calls / cpuS,
    startedBytes: started.residentBytes,
    bytesPerKey: await addedBy({ networks: 1, keys: counts.keys }, counts.keys - 1),
    bytesPerNetwork: await addedBy({ networks: counts.networks, keys: counts.networks }, counts.networks - 1),
    bytesPerSocket,
  };
}

function start({ networks, keys }: { networks: number; keys: number }): Promise<StartedGateway> {
  const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${upstreamPort}` }];
  const file = { name: 'Bench', chainId: 1, methods: ['eth', 'zks'], upstreams };
  const files = Object.fromEntries(Array.from({ length: networks }, (_, index) => [`network-${index}`, file]));
  return startGateway(join(folder, `gateway-${++gateways}`), {
    ...{
      networks: files,
      keys,
      permissions: { sockets: '100000' },
      env: { CACHE_MAX_BYTES: '0' },
    },
    script: ['--expose-gc', join(packageRoot, 'dist/bench/measured-gateway.js')],
  });
}

/** Sends calls at full load. @returns CPU time of the gateway, and the numbers of correct and other responses */
async function saturate(
  { port, paths, pid }: StartedGateway,
  seconds: number,
): Promise<{ cpuS: number; calls: number; incorrect: number }> {
  const generator = await LoadGenerator.open({ port, paths }, 64, new CheckedCalls(walletMix));
  const before = cpuMicroseconds(pid);
  await generator.saturate(seconds);
  const cpuS = (cpuMicroseconds(pid) - before) / 1e6;
  generator.close();
  const { correct, rejected, failed } = generator.outcomes;
  return { cpuS, calls: correct, incorrect: rejected + failed };
}

async function useEach({ port, paths }: StartedGateway): Promise<void> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
  const headers = { 'content-type': 'application/json' };
  for (let from = 0; from < paths.length; from += 50) {
    const some = paths.slice(from, from + 50);
    const responses = await Promise.all(
      some.map(async (path) =>
        (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })).text(),
      ),
    );
    if (responses.some((text) => !text.includes('"result"'))) throw new Error('a key or a network was not served');
  }
}

async function measureSockets(gateway: StartedGateway): Promise<number> {
  const url = `ws://127.0.0.1:${gateway.port}${(gateway.paths[0] ?? '').replace('/v3/', '/ws/v3/')}`;
  const first = await openSockets(url, FIRST_SOCKETS);
  const before = (await memoryOf(gateway)).residentBytes;
  const sockets = await openSockets(url, counts.sockets);
  const bytes = (await memoryOf(gateway)).residentBytes;
  for (const socket of [...first, ...sockets]) socket.terminate();
  return (bytes - before) / counts.sockets;
}

async function openSockets(url: string, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, () => new WebSocket(url));
    await Promise.all(some.map((socket) => once(socket, 'open')));
    sockets.push(...some);
  }
  return sockets;
}

/** Memory after a garbage collection. `usedBytes`: the heap and buffers, which vary less than what the system has assigned. */
async function memoryOf({ dataDir, pid }: StartedGateway): Promise<{ residentBytes: number; usedBytes: number }> {
  const { rssBytes, heapBytes, externalBytes } = await readMeasures(dataDir, pid);
  return { residentBytes: rssBytes, usedBytes: heapBytes + externalBytes };
}
