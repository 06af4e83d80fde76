import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { startRedisWithSentinel } from '../support/redis-cluster.ts';
import { startFaultProxy, type WireFault } from './fault-proxy.ts';

/** One way in which the Redis of keys and limits fails: a row of the second table in docs/faults.md. */
export interface RedisFault {
  readonly name: string;
  readonly open: () => Promise<BadRedis>;
}

export interface BadRedis {
  readonly url: string;
  /** Where keys are written by hand. */
  readonly leader: RedisServer;
  fail(): Promise<void> | void;
  mend(): Promise<void> | void;
  stop(): Promise<void>;
}

export const redisFaults: readonly RedisFault[] = [
  { name: 'Redis is killed and started again', open: killed },
  { name: 'Redis hangs', open: paused },
  { name: 'Redis restarts immediately', open: restarted },
  { name: 'Redis fails over through Sentinel', open: failsOver },
  { name: 'connections to Redis are refused', open: () => wired({ kind: 'refuse' }) },
  { name: 'connections to Redis are reset', open: () => wired({ kind: 'reset', at: 'accept' }) },
  { name: 'the network to Redis fails silently', open: () => wired({ kind: 'vanish' }) },
];

/** What it held is there when it comes back. */
async function startLasting(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
  const redis = await startRedis({ args: ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'] });
  const stop = async (): Promise<void> => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...redis, stop };
}

async function killed(): Promise<BadRedis> {
  const leader = await startLasting();
  return { url: leader.url, leader, fail: leader.kill, mend: leader.restart, stop: leader.stop };
}

async function restarted(): Promise<BadRedis> {
  const leader = await startLasting();
  return { url: leader.url, leader, fail: leader.restart, mend: nothing, stop: leader.stop };
}

async function paused(): Promise<BadRedis> {
  const leader = await startRedis();
  return { url: leader.url, leader, fail: leader.pause, mend: leader.resume, stop: leader.stop };
}

async function wired(fault: WireFault): Promise<BadRedis> {
  const leader = await startRedis();
  const proxy = await startFaultProxy(leader.port);
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    leader,
    fail: () => proxy.fail(fault),
    mend: () => proxy.fail(undefined),
    stop: async () => {
      await proxy.close();
      await leader.stop();
    },
  };
}

async function failsOver(): Promise<BadRedis> {
  const { url, nodes, stop } = await startRedisWithSentinel();
  const [leader] = nodes as [RedisServer];
  // What is written has reached the other one.
  const fail = async (): Promise<void> => {
    await leader.cli('WAIT', '1', '1000');
    await sleep(10);
    await leader.kill();
  };
  return { url, leader, fail, mend: nothing, stop };
}

function nothing(): void {
  // It comes back by itself.
}
