import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProgram } from '../../test/support/find-program.ts';
import { writeTable } from '../../test/support/page-table.ts';
import { programs } from '../../test/support/programs.ts';
import { CheckedCalls } from '../checked-calls.ts';
import { FixedUpstream } from '../fixed-upstream.ts';
import { LoadGenerator } from '../load.ts';
import {
  commandLine,
  cpuMicroseconds,
  freePorts,
  option,
  pidOf,
  removeFolder,
  start,
  stopAll,
  untilOpen,
} from '../processes.ts';
import { startGateway, type StartedGateway } from '../start-gateway.ts';
import { walletMix } from '../wallet-calls.ts';
import { replicaRows, type ReplicaCost } from './replica-rows.ts';

/**
 * Measures the CPU time of a call if 1, 2 and 3 gateways with one Redis get calls of the same key, which has a rate, at the
 * same time; writes the table of docs/measured/scaling.md. Linux only: CPU time is from /proc. Takes about two minutes.
 *
 *   npm run bench -- replicas --rounds 5 [--seconds 2 --print]
 */
const GATEWAYS_MAX = 3;
const CONNECTIONS_PER_GATEWAY = 32;
/** CPU time of each gateway before it is measured, in which its code is compiled. */
const WARMUP_S = 3;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-replicas-'));
// Also runs if the measurement fails.
process.once('exit', () => {
  stopAll();
  removeFolder(folder);
});
const upstream = new FixedUpstream();
const url = `http://127.0.0.1:${await upstream.listen()}`;
const [redisPort = 0] = await freePorts(1);
const args = ['--port', String(redisPort), '--save', '', '--appendonly', 'no', '--dir', folder];
const redisPid = pidOf(start(findProgram(programs.redis), args));
await untilOpen(redisPort);

const load = `load average ${(loadavg()[0] ?? 0).toFixed(1)} before the start`;
const seconds = option('seconds', 2);
const gateways: StartedGateway[] = [];
while (gateways.length < GATEWAYS_MAX) gateways.push(await startOne(gateways.length));
// Every gateway has the same Redis, and so the keys of all.
const paths = gateways[0]?.paths ?? [];
for (const gateway of gateways) {
  const before = cpuMicroseconds(gateway.pid);
  while (cpuMicroseconds(gateway.pid) - before < WARMUP_S * 1e6) await saturate([gateway]);
}
const rounds: ReplicaCost[][] = [];
for (let round = 0; round < option('rounds', 5); round++) {
  const costs: ReplicaCost[] = [];
  for (let count = 1; count <= GATEWAYS_MAX; count++) costs.push(await saturate(gateways.slice(0, count)));
  rounds.push(costs);
}
upstream.close();
const rows = replicaRows(rounds);
console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'), `\n${load}`);
if (!process.argv.includes('--print')) {
  const page = join(packageRoot, 'docs/measured/scaling.md');
  writeTable(
    page,
    'replicas',
    [...rows, ['machine', `${cpus().length} cores`, load, '']],
    commandLine('npm run bench -- replicas'),
  );
  execFileSync(join(packageRoot, 'node_modules/.bin/prettier'), ['--write', '--log-level', 'warn', page]);
}
stopAll();

function startOne(index: number): Promise<StartedGateway> {
  return startGateway(join(folder, `gateway-${index}`), {
    networks: { main: { name: 'Bench', chainId: 1, methods: ['eth', 'zks'], upstreams: [{ name: 'fixed', url }] } },
    permissions: { rate: '1000000' },
    redisUrl: `redis://127.0.0.1:${redisPort}`,
    env: { CACHE_MAX_BYTES: '0' },
  });
}

/** Sends calls to these gateways at full load, all at the same time. */
async function saturate(loaded: readonly StartedGateway[]): Promise<ReplicaCost> {
  const generators = await Promise.all(
    loaded.map(({ port }) => LoadGenerator.open({ port, paths }, CONNECTIONS_PER_GATEWAY, new CheckedCalls(walletMix))),
  );
  const used = (): number => loaded.reduce((sum, { pid }) => sum + cpuMicroseconds(pid), 0);
  const [before, redisBefore] = [used(), cpuMicroseconds(redisPid)];
  await Promise.all(generators.map((generator) => generator.saturate(seconds)));
  const [usedUs, redisUs] = [used() - before, cpuMicroseconds(redisPid) - redisBefore];
  for (const generator of generators) generator.close();
  const incorrect = generators.reduce((sum, { outcomes }) => sum + outcomes.rejected + outcomes.failed, 0);
  if (incorrect > 0) throw new Error(`${incorrect} calls were rejected or failed`);
  const calls = generators.reduce((sum, { outcomes }) => sum + outcomes.correct, 0);
  return { gateways: loaded.length, cpuUs: usedUs / calls, redisCpuUs: redisUs / calls };
}
