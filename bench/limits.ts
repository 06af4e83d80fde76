import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { digestOf, makeKey } from '../gateway/keys/key.ts';
import type { RuleChange } from '../gateway/keys/key-store.ts';
import { RedisKeyStore } from '../gateway/keys/redis-key-store.ts';
import { openLog } from '../gateway/config/log.ts';
import { load } from './load.ts';

/**
 * What limits and permissions add to a call: CPU of the gateway per call with each kind of key, as a ratio to a key
 * without rules, in interleaved rounds of one gateway on a real Redis. Linux only; needs redis-server on PATH.
 *
 *   npm run build && node dist/bench/limits.js [--rounds 5 --seconds 4 --connections 64]
 */
const kinds: Readonly<Record<string, RuleChange>> = {
  'no rules': {},
  permissions: { networks: 'bench,other', methods: 'eth', ips: '127.0.0.0/8,10.0.0.0/8' },
  rate: { rate: '1000000' },
  'rate, day and month': { rate: '1000000', daily: '1000000000', monthly: '1000000000' },
};

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const children: ChildProcess[] = [];
try {
  await run(option('rounds', 5), option('seconds', 4), option('connections', 64));
} finally {
  for (const child of children) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}

async function run(rounds: number, seconds: number, connections: number): Promise<void> {
  const [upstream, redis, port] = (await freePorts(3)) as [number, number, number];
  start(process.execPath, [join(here, 'fixed-upstream.js'), String(upstream)]);
  start('redis-server', ['--port', String(redis), '--save', '', '--appendonly', 'no', '--dir', folder]);
  await delay(500);
  const network = { name: 'Bench', chainId: 1, upstreams: [{ name: 'fixed', url: `http://127.0.0.1:${upstream}` }] };
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(network));
  const url = `redis://127.0.0.1:${redis}`;
  const keys = await makeKeys(url);
  const env = { PORT: String(port), NETWORKS_DIR: folder, DATA_DIR: folder, REDIS_URL: url, LOG_LEVEL: 'error' };
  const gateway = start(process.execPath, [join(here, '../gateway/main.js')], { ...process.env, ...env });
  await listening(port);

  const rows = new Map(Object.keys(kinds).map((kind) => [kind, [] as number[]]));
  const rates = new Map<string, number>();
  for (let round = -1; round < rounds; round++) {
    // There and back, so that none has the better place.
    for (const [kind, key] of round % 2 === 0 ? keys : [...keys].reverse()) {
      const before = cpuMicroseconds(gateway.pid);
      const { calls, wrong } = await load(
        `http://127.0.0.1:${port}/bench/v3/${key}`,
        connections,
        round < 0 ? 2 : seconds,
      );
      if (wrong > 0) throw new Error(`${kind}: ${wrong} wrong answers`);
      if (round >= 0) rows.get(kind)?.push((cpuMicroseconds(gateway.pid) - before) / calls);
      rates.set(kind, calls / (round < 0 ? 2 : seconds));
    }
  }
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  print(rows, rates, `${rounds} rounds of ${seconds} s, ${connections} connections`);
  console.log(
    `\n${metrics
      .split('\n')
      .filter((line) => line.startsWith('gatehouse_limit_checks'))
      .join('\n')}`,
  );
}

async function makeKeys(url: string): Promise<Map<string, string>> {
  const store = new RedisKeyStore(url, openLog('silent'));
  await store.opened(2_000);
  const keys = new Map<string, string>();
  for (const [kind, rules] of Object.entries(kinds)) {
    const key = makeKey();
    await store.add(digestOf(key), {
      name: kind,
      createdAt: new Date().toISOString(),
      rules: rules as Record<string, string>,
    });
    keys.set(kind, key);
  }
  await store.close();
  return keys;
}

function print(rows: ReadonlyMap<string, number[]>, rates: ReadonlyMap<string, number>, what: string): void {
  const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  const base = median(rows.get('no rules') ?? []);
  console.log(`${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}, ${what}, medians\n`);
  console.log('| key with | CPU-µs per call | more | calls/s |');
  console.log('| --- | --- | --- | --- |');
  for (const [kind, values] of rows) {
    const cpu = median(values);
    const more = `${((cpu / base - 1) * 100).toFixed(1)} %`;
    console.log(`| ${kind} | ${cpu.toFixed(1)} | ${more} | ${rates.get(kind)?.toFixed(0)} |`);
  }
}

/** User and system time of a process, from its clock ticks (100 a second on Linux). */
function cpuMicroseconds(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function start(file: string, args: string[], env = process.env): ChildProcess {
  const child = spawn(file, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    await delay(200);
    if ((await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true) return;
  }
  throw new Error('the gateway did not start');
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await delay(50);
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}

function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
}
