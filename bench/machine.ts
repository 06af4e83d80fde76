import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { writeTable } from '../test/support/page-table.ts';
import { processTree } from '../test/support/process-tree.ts';
import { CheckedCalls, firstOfLoad } from './checked-calls.ts';
import { median, show, spread } from './figures.ts';
import { LoadGenerator, type Endpoint } from './load.ts';
import { peerPrograms, runtimePrograms } from './peers.ts';
import { commandLine, cpuMicroseconds, option } from './processes.ts';
import { Rig } from './rig.ts';
import { ethCalls } from './wallet-calls.ts';

/**
 * Measures what the whole machine serves: a gateway with one worker, with a worker for each core, and the peers of `--peer`,
 * which use all cores. They share the cores with the clients and the upstream. Writes its table into docs/measured/scaling.md.
 *
 *   npm run bench -- machine [--rounds 5 --seconds 2 --runtime "Node 24=PATH" --peer erpc=PATH]
 */
const CONNECTIONS = 64;
/** Load before the first round, so that V8 has compiled the code of each process: each of two has half of the calls of one. */
const WARM_UP_S = 15;
const sends = [
  { title: 'eth_call', batchSize: 0 },
  { title: 'batch of 10', batchSize: 10 },
] as const;

interface Contender {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly pid: number;
}

interface Served {
  readonly perSecond: number;
  /** CPU time of all processes, per call. */
  readonly cpuUs: number;
}

const cores = availableParallelism();
const rounds = option('rounds', 5);
const seconds = option('seconds', 2);
const rig = new Rig();
try {
  const contenders: Contender[] = [];
  for (const [runtime, node] of [[`Node ${process.version.slice(1)}`, undefined], ...runtimePrograms()] as const) {
    for (const workers of [1, cores]) {
      const gateway = await rig.gateway({ env: { WORKERS: String(workers) }, ...(node !== undefined && { node }) });
      const { port, paths, pid } = gateway;
      contenders.push({ name: `${workers} × ${runtime.replace('Gatehouse, ', '')}`, endpoint: { port, paths }, pid });
    }
  }
  for (const [name, program] of peerPrograms()) {
    const { port, pid, path = '/' } = await rig.peer(name, program);
    contenders.push({ name, endpoint: { port, paths: [path] }, pid });
  }
  const rows = [['', 'calls per s', '× one worker', 'CPU per call', '× one worker']];
  for (const send of sends) {
    for (const contender of contenders) await serve(contender, send.batchSize, WARM_UP_S);
    const served = new Map(contenders.map(({ name }) => [name, [] as Served[]]));
    for (let round = 0; round < rounds; round++)
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed())
        served.get(contender.name)?.push(await serve(contender, send.batchSize, seconds));
    for (const { name } of contenders) {
      const own = served.get(name) ?? [];
      const one = served.get(name.replace(/^\d+ × /, '1 × ')) ?? [];
      const isOne = !name.includes(' × ') || own === one;
      const ratios = (part: keyof Served): string => {
        const values = own.map((round, at) => round[part] / (one[at]?.[part] ?? NaN));
        return isOne ? '' : `${show(median(values))} (${spread(values)})`;
      };
      const [perSecond, cpuUs] = [own.map((round) => round.perSecond), own.map((round) => round.cpuUs)];
      const calls = Math.round(median(perSecond)).toLocaleString('en');
      const title = `${send.title}: ${name.includes(' × ') ? `Gatehouse, ${name}` : name}`;
      rows.push([title, calls, ratios('perSecond'), `${show(median(cpuUs))} µs`, ratios('cpuUs')]);
      console.log(rows.at(-1)?.join(' | '));
    }
  }
  for (const { name, pid } of contenders.filter(({ name }) => name.startsWith(`${cores} × `))) {
    const workers = processTree(pid).slice(1).map(pssMb);
    console.log(
      `${name}: PSS of the workers ${workers.map(show).join(', ')} MB, of the first process ${show(pssMb(pid))} MB`,
    );
  }
  writeTable(join(packageRoot, 'docs/measured/scaling.md'), 'machine', rows, commandLine('npm run bench -- machine'));
} finally {
  rig.close();
}

async function serve({ endpoint, pid }: Contender, batchSize: number, forS: number): Promise<Served> {
  const checked = new CheckedCalls(ethCalls, batchSize, undefined, firstOfLoad());
  const load = await LoadGenerator.open(endpoint, CONNECTIONS, checked);
  const before = cpuOf(pid);
  const durationS = await load.saturate(forS, false);
  const usedUs = cpuOf(pid) - before;
  const { correct, rejected, failed } = load.outcomes;
  load.close();
  if (rejected + failed > 0) throw new Error(`${rejected} calls were rejected, ${failed} failed`);
  return { perSecond: correct / durationS, cpuUs: usedUs / correct };
}

function cpuOf(pid: number): number {
  return processTree(pid).reduce((sum, one) => sum + cpuMicroseconds(one), 0);
}

/** Resident memory in MB, of which each process has its share of what is common. */
function pssMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return (Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1]) * 1_024) / 1e6;
}
