import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { load, type Load } from './load.ts';
import { freePorts, option, pidOf, start, stopAll, untilReady } from './processes.ts';

/**
 * CPU per call of the gateway, as a ratio to nginx and to a bare Node proxy in front of the same upstream, in
 * interleaved rounds; every answer is checked. Linux only: CPU time is read from /proc. Needs nginx on PATH.
 *
 *   npm run bench [-- --rounds 5 --seconds 4 --connections 64 --block]
 *
 * With `--block`, blocks of 173 kB are asked for in place of storage words
 */
interface Candidate {
  readonly name: string;
  readonly url: string;
  /** The process that does the work. */
  readonly pid: number;
}

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
try {
  await run(option('rounds', 5), option('seconds', 4), option('connections', 64));
} finally {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
}

async function run(rounds: number, seconds: number, connections: number): Promise<void> {
  const what = process.argv.includes('--block') ? 'block' : 'word';
  const candidates = await startAll();
  const rows = new Map(candidates.map(({ name }) => [name, [] as (Load & { cpu: number })[]]));
  for (const { url } of candidates) await load(url, connections, 2, what);
  for (let round = 0; round < rounds; round++) {
    for (const { name, url, pid } of candidates) {
      const before = cpuMicroseconds(pid);
      const result = await load(url, connections, seconds, what);
      rows.get(name)?.push({ ...result, cpu: (cpuMicroseconds(pid) - before) / result.calls });
    }
  }
  print(rows, `${what}s, ${rounds} rounds of ${seconds} s, ${connections} connections`);
}

async function startAll(): Promise<Candidate[]> {
  const [upstream, nginx, bare, gateway] = (await freePorts(4)) as [number, number, number, number];
  start(process.execPath, [join(here, 'fixed-upstream.js'), String(upstream)]);
  writeFileSync(join(folder, 'nginx.conf'), nginxConf(nginx, upstream));
  // One process: master_process off makes the one that we start do the work.
  const nginxProcess = start('nginx', ['-c', join(folder, 'nginx.conf'), '-e', '/dev/null']);
  const bareProcess = start(process.execPath, [join(here, 'bare-proxy.js'), String(bare), String(upstream)]);
  const network = { name: 'Bench', chainId: 1, upstreams: [{ name: 'fixed', url: `http://127.0.0.1:${upstream}` }] };
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(network));
  const dataDir = join(folder, 'data');
  const env = { ...process.env, PORT: String(gateway), NETWORKS_DIR: folder, DATA_DIR: dataDir, LOG_LEVEL: 'error' };
  const gatewayProcess = start(process.execPath, [join(here, '../gateway/main.js')], env);
  await untilReady(gateway);
  await delay(500);
  const key = readFileSync(join(dataDir, 'development-key'), 'utf8').trim();
  return [
    { name: 'nginx', url: `http://127.0.0.1:${nginx}/`, pid: pidOf(nginxProcess) },
    { name: 'bare Node proxy', url: `http://127.0.0.1:${bare}/`, pid: pidOf(bareProcess) },
    { name: 'Gatehouse', url: `http://127.0.0.1:${gateway}/bench/v3/${key}`, pid: pidOf(gatewayProcess) },
  ];
}

/** User and system time of a process, from its clock ticks (100 a second on Linux). */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function print(rows: ReadonlyMap<string, readonly (Load & { cpu: number })[]>, what: string): void {
  const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  const base = median((rows.get('nginx') ?? []).map(({ cpu }) => cpu));
  console.log(`${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}, ${what}, medians\n`);
  console.log('| proxy | CPU-µs per call | × nginx | p50 ms | p99 ms | calls | wrong |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [name, results] of rows) {
    const cpu = median(results.map((result) => result.cpu));
    const p50 = median(results.map((result) => result.p50));
    const p99 = median(results.map((result) => result.p99));
    const sum = (key: 'calls' | 'wrong'): number => results.reduce((total, result) => total + result[key], 0);
    const cells = [cpu.toFixed(1), (cpu / base).toFixed(1), p50.toFixed(1), p99.toFixed(1), sum('calls'), sum('wrong')];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

function nginxConf(port: number, upstream: number): string {
  return `
    master_process off; daemon off; pid ${folder}/nginx.pid; error_log /dev/null;
    events { worker_connections 1024; }
    http {
      access_log off; keepalive_requests 100000000; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      upstream fixed { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 100000000; }
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://fixed; proxy_http_version 1.1; proxy_set_header Connection ""; }
      }
    }`;
}
