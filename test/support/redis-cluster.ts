import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../auth/eventually.ts';
import { freePort, startRedis, type RedisServer } from './redis.ts';

const slots = 16_384;

/** Real Redis servers that belong together. Whoever starts them calls `stop()` in the end. */
export interface RedisGroup {
  /** As REDIS_URL has it. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts a cluster of three, each with a third of the slots.
 * @param isFollowed whether a fourth follows the first, and takes its place when it is gone
 */
export async function startRedisCluster({ isFollowed = false } = {}): Promise<RedisGroup> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cluster-'));
  const members: { node: RedisServer; bus: number }[] = [];
  for (let index = 0; index < (isFollowed ? 4 : 3); index += 1) {
    const bus = await freePort();
    const args = ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-node-timeout', '1000'];
    const file = ['--cluster-config-file', join(folder, `node-${index}.conf`)];
    members.push({ node: await startRedis({ args: [...args, ...file] }), bus });
  }
  const nodes = members.map(({ node }) => node);
  for (const [index, { node }] of members.entries()) {
    const [from, to] = [index, index + 1].map((third) => Math.floor((slots * third) / 3)) as [number, number];
    if (index < 3) await node.cli('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
    for (const { node: other, bus } of members) {
      await node.cli('CLUSTER', 'MEET', '127.0.0.1', String(other.port), String(bus));
    }
  }
  await eventually(async () => {
    const told = await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')));
    return told.every(
      (text) => text.includes('cluster_state:ok') && text.includes(`cluster_known_nodes:${nodes.length}`),
    );
  }, 15_000);
  const [first, , , follower] = nodes;
  if (first !== undefined && follower !== undefined) {
    await follower.cli('CLUSTER', 'REPLICATE', await first.cli('CLUSTER', 'MYID'));
    const isFollowing = async (): Promise<boolean> =>
      (await follower.cli('INFO', 'replication')).includes('master_link_status:up');
    await eventually(isFollowing, 10_000);
    // The others have to know, too: they elect it.
    await eventually(
      async () =>
        (await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'NODES')))).every((text) => text.includes('slave')),
      10_000,
    );
  }
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Starts one that leads, one that follows, and a Sentinel that puts the second in the place of the first. */
export async function startRedisWithSentinel(): Promise<RedisGroup> {
  const leader = await startRedis();
  const follower = await startRedis({ args: ['--replicaof', `127.0.0.1 ${leader.port}`] });
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const port = await freePort();
  await eventually(async () => (await follower.cli('INFO', 'replication')).includes('master_link_status:up'), 10_000);
  writeFileSync(
    file,
    [
      `sentinel monitor main 127.0.0.1 ${leader.port} 1`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 2000',
    ].join('\n'),
  );
  const sentinel = await startRedis({ port, config: file, args: ['--sentinel'], ready: '+monitor' });
  await eventually(
    async () => (await sentinel.cli('SENTINEL', 'replicas', 'main')).includes(String(follower.port)),
    15_000,
  );
  return {
    url: `redis+sentinel://127.0.0.1:${port}/main`,
    nodes: [leader, follower],
    stop: async () => {
      await Promise.all([leader, follower, sentinel].map((server) => server.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}
