import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { Workplace, type Gateway } from '../e2e/gateway-process.ts';
import { eventually } from '../support/eventually.ts';
import { processTree } from '../support/process-tree.ts';
import { freePort } from '../support/redis.ts';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { attacks } from './attacks/attacks.ts';
import { addresses, hostileNetwork, type Attack, type Target } from './attacks/attack.ts';
import { bounds } from './bounds.ts';
import { AbuseProcess } from './child-process.ts';
import { openNeighbour, type Measurement } from './neighbour.ts';
import type { TrafficReport } from './processes/traffic.ts';

/** What one attack did to the gateway and to the caller beside it. */
export interface Outcome {
  /** Peak resident memory of the gateway's process, or the sum of its processes, from the start to the end of the attack. */
  readonly peakBytes: number;
  /** A lookup with the attacker's key, before the attack. Undefined: it has none. */
  readonly keyCheck: Measurement | undefined;
  /** The neighbour before the attack, in it, and afterwards. */
  readonly alone: Measurement;
  readonly attacked: Measurement;
  readonly after: Measurement;
  readonly traffic: TrafficReport;
  /** Part of the attack's time for which the gateway's main thread waited for a CPU; of several, the one that waited longest. */
  readonly cpuWaitShare: number;
  /** The gateway's processes run. */
  readonly isAlive: boolean;
}

const ADMIN_TOKEN = 'the-admin-token-of-this-test';
const SLUG = 'main';
/** Opens connections, and lets the compiler optimise. */
const WARM_UP_MS = 1_000;
const ALONE_MS = 3_000;

/**
 * What bounds an attack: all of Gatehouse, in one process or two workers, or the guards on the real memory and event-loop time
 * alone. These know the limit of memory, which is that of a container in production.
 */
export type Pass = 'all bounds' | 'two workers' | 'guards alone';

const programs: Readonly<Record<Pass, { readonly bin?: string; readonly env: Readonly<Record<string, string>> }>> = {
  'all bounds': { env: {} },
  'two workers': { env: { WORKERS: '2' } },
  'guards alone': {
    bin: join(packageRoot, 'dist/test/abuse/processes/guards-alone.js'),
    env: { MEMORY_LIMIT_MB: String(bounds.memoryBytes / 2 ** 20) },
  },
};

/** Plays an attack on a new gateway with default settings and one upstream. */
export async function playAttack(attack: Attack, pass: Pass): Promise<Outcome> {
  const { logsPerBlock = 0, upstreamPlaces } = attack;
  const upstream = new AbuseProcess('upstream', [logsPerBlock, upstreamPlaces ?? []].flat().map(String));
  const attacker = new AbuseProcess('attacker', [String(attacks.indexOf(attack))]);
  const { bin, env } = programs[pass];
  const place = new Workplace(bin);
  try {
    attacker.lowerPriority();
    const url = `http://127.0.0.1:${String(await upstream.message())}`;
    const own = attack.public === undefined ? {} : { public: attack.public };
    const main = { name: 'Main', chainId: 1, upstreams: [{ name: 'node', url }], ...own };
    const upstreamPort = await freePort();
    const { slug, chainId } = hostileNetwork;
    const address = `127.0.0.1:${upstreamPort}`;
    const upstreams = (attack.isUpstream ?? []).map((transport) =>
      transport === 'http'
        ? { name: 'hostile-http', url: `http://${address}` }
        : { name: 'hostile', websocketUrl: `ws://${address}` },
    );
    const methods = ['eth', 'net', 'web3', 'debug_*'];
    const hostile = upstreams.length === 0 ? {} : { [slug]: { name: 'Hostile', chainId, upstreams, methods } };
    place.withNetworks({ [SLUG]: main, ...hostile });
    const opsPort = await freePort();
    const heap = attack.heapMb === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${attack.heapMb}` };
    const trusted = attack.isProxy === true ? { TRUSTED_PROXIES: addresses.withoutKey } : {};
    const gateway = await place.start({ OPS_PORT: String(opsPort), ADMIN_TOKEN, ...heap, ...trusted, ...env });
    const pids = await untilComplete(gateway, pass);
    return await measure(attack, attacker, gateway, { opsPort, upstreamPort, pids });
  } finally {
    await Promise.all([attacker.stop(), upstream.stop()]);
    await place.close();
  }
}

/** Waits until all workers run. @returns the process ids of the gateway */
async function untilComplete({ pid }: Gateway, pass: Pass): Promise<readonly number[]> {
  const count = pass === 'two workers' ? 3 : 1;
  await eventually(() => processTree(pid).length === count, 20_000);
  return processTree(pid);
}

async function measure(
  attack: Attack,
  attacker: AbuseProcess,
  gateway: Gateway,
  { opsPort, upstreamPort, pids }: Pick<Target, 'opsPort' | 'upstreamPort'> & { readonly pids: readonly number[] },
): Promise<Outcome> {
  const port = Number(new URL(gateway.address).port);
  const neighbour = openNeighbour(port, `/${SLUG}/v3/${await createKey(opsPort)}`);
  const key = attack.key === undefined ? makeKey() : await createKey(opsPort, attack.key);
  const target: Target = {
    ...{ port, opsPort, upstreamPort, socketPath: `/${SLUG}/ws/v3/${key}` },
    path: attack.public === undefined ? `/${SLUG}/v3/${key}` : `/${SLUG}`,
    localAddress: attack.key === undefined ? addresses.withoutKey : addresses.neighbour,
  };
  try {
    const keyCheck = attack.key === undefined ? undefined : await checkKey(target);
    await neighbour.measure(WARM_UP_MS);
    const alone = await neighbour.measure(ALONE_MS);
    attacker.send(target);
    await attacker.message();
    const cpuWait = (): number => Math.max(...pids.map(cpuWaitMsOf));
    const [startedAt, cpuWaitBefore] = [performance.now(), cpuWait()];
    const { learningSeconds, seconds, neighbourPauseMs } = attack;
    if (learningSeconds !== undefined) await neighbour.measure(learningSeconds * 1_000, cpuWait, neighbourPauseMs);
    const attacked = await neighbour.measure(seconds * 1_000, cpuWait, neighbourPauseMs);
    const cpuWaitShare = (cpuWait() - cpuWaitBefore) / (performance.now() - startedAt);
    attacker.send('report');
    const traffic = (await attacker.message()) as TrafficReport;
    const peakBytes = sumOf(pids, peakMemoryOf);
    await attacker.stop();
    const after = await neighbour.measure(0);
    const isAlive = !Number.isNaN(sumOf(pids, peakMemoryOf));
    return { peakBytes, keyCheck, alone, attacked, after, traffic, cpuWaitShare, isAlive };
  } finally {
    neighbour.close();
    // The attack has left requests behind, for which SIGTERM would wait.
    gateway.signal('SIGKILL');
  }
}

async function checkKey({ port, path }: Target): Promise<Measurement> {
  const caller = openNeighbour(port, path);
  const keyCheck = await caller.measure(0);
  caller.close();
  return keyCheck;
}

async function createKey(opsPort: number, permissions: Attack['key'] = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${opsPort}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'caller', permissions }),
  });
  const { key } = (await response.json()) as { key?: string };
  if (key === undefined) throw new Error(`the admin API returned ${response.status}`);
  return key;
}

function sumOf(pids: readonly number[], valueOf: (pid: number) => number): number {
  return pids.reduce((sum, pid) => sum + valueOf(pid), 0);
}

/** Linux records the peak itself, so that none is missed between two samples. NaN: the process has ended. */
function peakMemoryOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readProcessFile(pid, 'status')) ?? [];
  return Number(kilobytes) * 1_024;
}

/** Time for which the main thread was ready and did not run. The file has nanoseconds. */
function cpuWaitMsOf(pid: number): number {
  const [, waited] = readProcessFile(pid, 'schedstat').split(' ');
  return Number(waited) / 1e6;
}

function readProcessFile(pid: number, name: string): string {
  const file = `/proc/${pid}/${name}`;
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
