import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from '../schemas/markdown-table.ts';
import { median, show } from './figures.ts';
import { openParts } from './gateway-parts.ts';
import { freePorts, removeFolder, start, stopAll, untilOpen } from './processes.ts';
import { stepsOf, type Step } from './step-list.ts';
import { walletMix, wholeBlocks, type CallKind } from './wallet-calls.ts';

/**
 * Measures the CPU time of each step of a call with the gateway's own functions, to locate a regression. The last row is the
 * whole call except HTTP with the client: `npm run bench -- steps`.
 */
const methods = ['eth_getStorageAt', 'eth_getTransactionReceipt'];
const smallKinds = methods.flatMap((name) => walletMix.find(({ method }) => method === name) ?? []);

const ROUNDS = 9;
const ROUND_MS = 60;
const WARMUP_MS = 1_000;
const CONCURRENCY = 64;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-steps-'));
const [port = 0] = await freePorts(1);
// In a separate process, whose CPU time is not counted.
start(process.execPath, [join(dirname(fileURLToPath(import.meta.url)), 'fixed-upstream.js'), String(port)]);
await untilOpen(port);
const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${port}` }];
writeFileSync(join(folder, 'bench.yaml'), JSON.stringify({ name: 'Bench', chainId: 1, upstreams }));
const parts = await openParts(folder);
try {
  console.log(table(await costRows([...smallKinds, ...wholeBlocks])));
} finally {
  await parts.close();
  stopAll();
  removeFolder(folder);
}

async function costRows(kinds: readonly CallKind[]): Promise<string[][]> {
  const columns: [string, Step[]][] = [];
  for (const kind of kinds) columns.push([`${kind.method}, ${sizeText(kind.result)}`, await stepsOf(kind, parts)]);
  const rows: string[][] = [['µs of CPU', ...columns.map(([title]) => title)]];
  for (const [index, { name }] of (columns[0]?.[1] ?? []).entries()) {
    const costs: string[] = [];
    for (const [, steps] of columns) costs.push(show(await measureStep(steps[index] as Step)));
    rows.push([name, ...costs]);
  }
  return rows;
}

function isAsync(work: Step['work']): boolean {
  return work.constructor.name === 'AsyncFunction';
}

/** CPU µs per call: the median of the rounds after a warm-up. A round is long compared with the resolution of the clock. */
async function measureStep({ work }: Step): Promise<number> {
  const run = (forMs: number): number | Promise<number> =>
    (isAsync(work) ? runConcurrently : runInTurn)(work, performance.now() + forMs);
  await run(isAsync(work) ? WARMUP_MS : ROUND_MS);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    const calls = await run(ROUND_MS);
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / calls);
  }
  return median(rounds);
}

function runInTurn(work: Step['work'], deadline: number): number {
  let calls = 0;
  for (; performance.now() < deadline; calls += 20) for (let index = 0; index < 20; index++) void work();
  return calls;
}

async function runConcurrently(work: Step['work'], deadline: number): Promise<number> {
  let calls = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < deadline; calls++) await work();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return calls;
}

function sizeText(text: string): string {
  return text.length < 1_000
    ? `${text.length} bytes`
    : `${(text.length / 1_000).toFixed(text.length < 10_000 ? 1 : 0)} kB`;
}
