import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from '../schemas/markdown-table.ts';
import { median, show } from './figures.ts';
import { openParts } from './gateway-parts.ts';
import { freePorts, start, stopAll, untilOpen } from './processes.ts';
import { stepsOf, type Step } from './step-list.ts';
import { walletMix, wholeBlocks } from './wallet-calls.ts';

/**
 * What each step of a call costs by itself, on the gateway's own functions: to see where a regression comes from. The
 * last row is the whole of it but for HTTP with the caller.
 *
 *   npm run bench:steps
 */
const methods = ['eth_getStorageAt', 'eth_getTransactionReceipt'];
const kinds = [...methods.flatMap((name) => walletMix.find(({ method }) => method === name) ?? []), ...wholeBlocks];

const ROUNDS = 9;
const ROUND_MS = 60;
const WARM_MS = 1_000;
const AT_ONCE = 64;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-steps-'));
const [port = 0] = await freePorts(1);
// In a process of its own: its CPU is not the gateway's.
start(process.execPath, [join(dirname(fileURLToPath(import.meta.url)), 'fixed-upstream.js'), String(port)]);
await untilOpen(port);
const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${port}` }];
writeFileSync(join(folder, 'bench.yaml'), JSON.stringify({ name: 'Bench', chainId: 1, upstreams }));
const parts = await openParts(folder);
try {
  const columns: [string, Step[]][] = [];
  for (const kind of kinds) columns.push([`${kind.method}, ${size(kind.result)}`, await stepsOf(kind, parts)]);
  const rows: string[][] = [['µs of CPU', ...columns.map(([title]) => title)]];
  for (const [index, { name }] of (columns[0]?.[1] ?? []).entries()) {
    const costs: string[] = [];
    for (const [, steps] of columns) costs.push(show(await cost(steps[index] as Step)));
    rows.push([name, ...costs]);
  }
  console.log(table(rows));
} finally {
  await parts.close();
  stopAll();
  rmSync(folder, { recursive: true, force: true });
}

/** The median of some rounds, each long enough for the clock's grain, once the code is compiled. */
async function cost({ work }: Step): Promise<number> {
  const isAsync = work.constructor.name === 'AsyncFunction';
  const run = (forMs: number): number | Promise<number> =>
    (isAsync ? together : inTurn)(work, performance.now() + forMs);
  await run(isAsync ? WARM_MS : ROUND_MS);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    const calls = await run(ROUND_MS);
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / calls);
  }
  return median(rounds);
}

function inTurn(work: Step['work'], until: number): number {
  let calls = 0;
  for (; performance.now() < until; calls += 20) for (let one = 0; one < 20; one++) void work();
  return calls;
}

async function together(work: Step['work'], until: number): Promise<number> {
  let calls = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < until; calls++) await work();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return calls;
}

function size(text: string): string {
  return text.length < 1_000
    ? `${text.length} bytes`
    : `${(text.length / 1_000).toFixed(text.length < 10_000 ? 1 : 0)} kB`;
}
