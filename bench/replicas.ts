import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { openLog } from '../gateway/config/log.ts';
import { digestOf, makeKey } from '../gateway/auth/formats/key.ts';
import { RedisKeyStore } from '../gateway/auth/stores/redis-key-store.ts';
import { cpuMicroseconds, rssOf } from './process-figures.ts';
import { freePorts, option, pidOf, start, stopAll, untilReady } from './processes.ts';

/**
 * Measures how the cost of a call grows with gateways, networks and keys: gateways with one Redis, some behind HAProxy, in
 * interleaved rounds. Every response is checked. Linux only; needs haproxy and redis-server on PATH. Its output is in
 * docs/scaling.md.
 *
 *   npm run build && node dist/bench/replicas.js [--rounds 3 --seconds 2 --connections 32]
 */
interface Case {
  readonly name: string;
  readonly address: string;
  readonly networks: number;
  readonly keys: readonly string[];
  /** Process ids by role. */
  readonly pids: Readonly<Record<'gateways' | 'balancer' | 'redis', readonly number[]>>;
}

interface Measured {
  readonly callsPerSecond: number;
  /** CPU µs per call. */
  readonly gateways: number;
  readonly balancer: number;
  readonly redis: number;
  /** Redis scripts per 1,000 calls. */
  readonly scripts: number;
}

const KEYS = 10_000;
const NETWORKS = [1, 50, 200] as const;
const word = '"0x000000000000000000000000000000000000000000000000000000000000002a"';
const params = '["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x0","latest"]';
const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
try {
  await run(option('rounds', 3), option('seconds', 2), option('connections', 32));
} finally {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
}

async function run(rounds: number, seconds: number, connections: number): Promise<void> {
  const [upstream, redisPort, ...ports] = (await freePorts(10)) as [number, number, ...number[]];
  start(process.execPath, [join(here, 'fixed-upstream.js'), String(upstream)]);
  const redis = start('redis-server', [
    '--port',
    String(redisPort),
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ]);
  await delay(500);
  const url = `redis://127.0.0.1:${redisPort}`;
  const plain = await makeKeys(url, KEYS, {});
  const limited = await makeKeys(url, 1_000, { rate: '1000000' });
  // Three gateways with one network, which are replicas, and one each with 50 and 200 networks.
  const sizes = [1, 1, ...NETWORKS];
  const gateways = [];
  for (const [index, size] of sizes.entries()) {
    gateways.push(await startGateway(ports[index] as number, size, upstream, url));
  }
  const replicas = gateways.slice(0, 3);
  const idle = new Map(gateways.map(({ pid }, index) => [sizes[index], rssOf(pid)]));
  const redisPids = [pidOf(redis)];
  const cases: Case[] = [];
  for (const [kind, keys] of [
    ['no limits', plain.slice(0, 1_000)],
    ['a rate each', limited],
  ] as const) {
    for (const count of [1, 2, 3]) {
      const behind = replicas.slice(0, count);
      const port = ports[5 + count - 1] as number;
      const balancer =
        cases.length < 3
          ? startHaproxy(
              port,
              behind.map((one) => one.port),
            )
          : cases[count - 1]?.pids.balancer[0];
      const pids = { gateways: behind.map(({ pid }) => pid), balancer: [balancer ?? 0], redis: redisPids };
      cases.push({
        name: `${count} × Gatehouse, 1,000 keys, ${kind}`,
        address: `http://127.0.0.1:${port}`,
        networks: 1,
        keys,
        pids,
      });
    }
  }
  for (const [networks, keys] of [
    [1, 1],
    [1, 1_000],
    [1, KEYS],
    [50, 1],
    [200, 1],
    [200, KEYS],
  ] as const) {
    const gateway = gateways[sizes.lastIndexOf(networks)];
    const pids = { gateways: [gateway?.pid ?? 0], balancer: [], redis: redisPids };
    const name = `${networks} networks, ${keys.toLocaleString('en')} keys`;
    cases.push({ name, address: `http://127.0.0.1:${gateway?.port ?? 0}`, networks, keys: plain.slice(0, keys), pids });
  }
  await delay(1_000);
  const client = new Redis(redisPort);
  const rows = new Map(cases.map(({ name }) => [name, [] as Measured[]]));
  for (let round = -1; round < rounds; round++) {
    // The order alternates, so that no case has the better position.
    for (const one of round % 2 === 0 ? cases : cases.toReversed()) {
      const measured = await measure(one, client, connections, seconds);
      if (round >= 0) rows.get(one.name)?.push(measured);
    }
  }
  client.disconnect();
  console.log(
    `${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}, ${rounds} rounds of ${seconds} s, ${connections} connections, medians\n`,
  );
  print(rows);
  console.log(
    `\nRSS of a gateway before its first call: ${[...idle].map(([size, bytes]) => `${size} networks ${(bytes / 1e6).toFixed(0)} MB`).join(', ')}`,
  );
}

async function measure(one: Case, client: Redis, connections: number, seconds: number): Promise<Measured> {
  const cpu = (): number[] =>
    Object.values(one.pids).map((pids) => pids.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0));
  const [before, scriptsBefore] = [cpu(), await countScripts(client)];
  const calls = await load(one, connections, seconds);
  const spent = cpu().map((value, index) => (value - (before[index] ?? 0)) / calls);
  const scripts = (((await countScripts(client)) - scriptsBefore) / calls) * 1_000;
  const [gateways = NaN, balancer = NaN, redis = NaN] = spent;
  return { callsPerSecond: calls / seconds, gateways, balancer, redis, scripts };
}

/** Sends one call after the other on each connection, with keys and networks in turn. @returns the number of calls */
async function load({ address, networks, keys }: Case, connections: number, seconds: number): Promise<number> {
  const pool = new Pool(address, { connections });
  const deadline = performance.now() + seconds * 1_000;
  let id = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const own = ++id;
      const path = `/bench-${own % networks}/v3/${keys[own % keys.length]}`;
      const body = `{"jsonrpc":"2.0","id":${own},"method":"eth_getStorageAt","params":${params}}`;
      const response = await pool.request({ method: 'POST', path, body });
      const text = await response.body.text();
      if (text !== `{"jsonrpc":"2.0","id":${own},"result":${word}}`) throw new Error(`wrong response: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  await pool.close();
  return id;
}

async function startGateway(
  port: number,
  networks: number,
  upstream: number,
  redisUrl: string,
): Promise<{ port: number; pid: number }> {
  const own = join(folder, String(port));
  mkdirSync(own);
  for (let index = 0; index < networks; index++) {
    const file = {
      name: `Bench ${index}`,
      chainId: 1,
      upstreams: [{ name: 'fixed', url: `http://127.0.0.1:${upstream}` }],
    };
    writeFileSync(join(own, `bench-${index}.yaml`), JSON.stringify(file));
  }
  const settings = {
    PORT: String(port),
    NETWORKS_DIR: own,
    DATA_DIR: own,
    REDIS_URL: redisUrl,
    LOG_LEVEL: 'error',
    CACHE_MAX_BYTES: '0',
  };
  const child = start(process.execPath, [join(here, '../gateway/main.js')], { ...process.env, ...settings });
  await untilReady(`http://127.0.0.1:${port}/readyz`);
  return { port, pid: pidOf(child) };
}

function startHaproxy(port: number, gateways: readonly number[]): number {
  const servers = gateways.map((gateway, index) => `  server gateway-${index} 127.0.0.1:${gateway}\n`).join('');
  const file = join(folder, `haproxy-${port}`);
  // One thread, so that HAProxy uses at most one core.
  writeFileSync(
    file,
    `global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\nlisten calls\n  bind 127.0.0.1:${port}\n  balance roundrobin\n${servers}`,
  );
  return pidOf(start('haproxy', ['-db', '-f', file], process.env, ['ignore', 'ignore', 'ignore']));
}

async function makeKeys(url: string, count: number, permissions: Record<string, string>): Promise<string[]> {
  const store = new RedisKeyStore(url, openLog('silent'));
  await store.waitUntilReady(2_000);
  const keys = Array.from({ length: count }, makeKey);
  const record = { name: 'bench', createdAt: new Date().toISOString(), permissions };
  for (let from = 0; from < count; from += 200) {
    await Promise.all(keys.slice(from, from + 200).map((key) => store.add(digestOf(key), record)));
  }
  await store.close();
  return keys;
}

/** The number of scripts that Redis ran, for limits and usage. Keys are read without scripts. */
async function countScripts(client: Redis): Promise<number> {
  const stats = await client.info('commandstats');
  const sum = (name: string): number => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return sum('evalsha') + sum('eval');
}

function print(rows: ReadonlyMap<string, readonly Measured[]>): void {
  const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  console.log('| case | calls/s | CPU-µs per call: gateways | HAProxy | Redis | scripts in Redis per 1,000 calls |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const [name, measured] of rows) {
    const of = (what: keyof Measured, digits: number): string =>
      median(measured.map((one) => one[what])).toFixed(digits);
    console.log(
      `| ${name} | ${of('callsPerSecond', 0)} | ${of('gateways', 0)} | ${of('balancer', 1)} | ${of('redis', 1)} | ${of('scripts', 0)} |`,
    );
  }
}
