import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { startRedisWithSentinel } from '../support/redis-cluster.ts';
import { startFaultProxy, type ConnectionFault } from './fault-proxy.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** One way in which the Redis for keys and limits fails: a row of the table `redis` in docs/measured/faults.md. */
export interface RedisFault {
  readonly name: string;
  readonly open: () => Promise<BadRedis>;
}

export interface BadRedis {
  readonly url: string;
  /** The server to which the test writes keys. */
  readonly primary: RedisServer;
  fail(): Promise<void> | void;
  mend(): Promise<void> | void;
  stop(): Promise<void>;
}

export const redisFaults: readonly RedisFault[] = [
  { name: 'Redis is killed and started again', open: killed },
  { name: 'Redis hangs', open: paused },
  { name: 'Redis restarts immediately', open: restarted },
  { name: 'Redis fails over through Sentinel', open: failsOver },
  { name: 'connections to Redis are refused', open: () => withProxy({ kind: 'refuse' }) },
  { name: 'connections to Redis are reset', open: () => withProxy({ kind: 'reset', at: 'accept' }) },
  { name: 'the network to Redis fails silently', open: () => withProxy({ kind: 'vanish' }) },
];

/** Starts a Redis whose data survives a restart. */
async function startPersistentRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
  const redis = await startRedis({ args: ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'] });
  const stop = async (): Promise<void> => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...redis, stop };
}

async function killed(): Promise<BadRedis> {
  const primary = await startPersistentRedis();
  return { url: primary.url, primary, fail: primary.kill, mend: primary.restart, stop: primary.stop };
}

async function restarted(): Promise<BadRedis> {
  const primary = await startPersistentRedis();
  return { url: primary.url, primary, fail: primary.restart, mend: nothing, stop: primary.stop };
}

async function paused(): Promise<BadRedis> {
  const primary = await startRedis();
  return { url: primary.url, primary, fail: primary.pause, mend: primary.resume, stop: primary.stop };
}

async function withProxy(fault: ConnectionFault): Promise<BadRedis> {
  const primary = await startRedis();
  const proxy = await startFaultProxy(primary.port);
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    primary,
    fail: () => proxy.fail(fault),
    mend: () => proxy.fail(undefined),
    stop: async () => {
      await proxy.close();
      await primary.stop();
    },
  };
}

async function failsOver(): Promise<BadRedis> {
  const { url, nodes, stop } = await startRedisWithSentinel();
  const [primary] = nodes as [RedisServer];
  // Waits until the replica has all writes.
  const fail = async (): Promise<void> => {
    await primary.cli('WAIT', '1', '1000');
    await scenarioPause(10);
    await primary.kill();
  };
  return { url, primary, fail, mend: nothing, stop };
}

function nothing(): void {
  // It recovers without help.
}
