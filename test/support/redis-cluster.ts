import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort, startRedis, type RedisServer } from './redis.ts';

const slots = 16_384;

/** Several Redis processes: a cluster, or a primary with a replica and a Sentinel. The test must call `stop()`. */
export interface RedisGroup {
  /** Address in the format of REDIS_URL. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts a cluster of three primaries, each with a third of the slots.
 * @param hasReplica starts a fourth node that replicates the first and takes over when the first fails
 */
export async function startRedisCluster({ hasReplica = false } = {}): Promise<RedisGroup> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cluster-'));
  const members: { node: RedisServer; bus: number }[] = [];
  for (let index = 0; index < (hasReplica ? 4 : 3); index += 1) {
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
    const infos = await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')));
    return infos.every(
      (text) => text.includes('cluster_state:ok') && text.includes(`cluster_known_nodes:${nodes.length}`),
    );
  }, 15_000);
  const [first, , , replica] = nodes;
  if (first !== undefined && replica !== undefined) {
    await replica.cli('CLUSTER', 'REPLICATE', await first.cli('CLUSTER', 'MYID'));
    const isReplicating = async (): Promise<boolean> =>
      (await replica.cli('INFO', 'replication')).includes('master_link_status:up');
    await eventually(isReplicating, 10_000);
    // The other primaries elect the replica, so they must list it.
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

/** Starts a primary, a replica, and a Sentinel that promotes the replica when the primary fails. */
export async function startRedisWithSentinel(): Promise<RedisGroup> {
  const primary = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] });
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const port = await freePort();
  await eventually(async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'), 10_000);
  writeFileSync(
    file,
    [
      `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 2000',
    ].join('\n'),
  );
  const sentinel = await startRedis({ port, config: file, args: ['--sentinel'], ready: '+monitor' });
  await eventually(
    async () => (await sentinel.cli('SENTINEL', 'replicas', 'main')).includes(String(replica.port)),
    15_000,
  );
  return {
    url: `redis+sentinel://127.0.0.1:${port}/main`,
    nodes: [primary, replica],
    stop: async () => {
      await Promise.all([primary, replica, sentinel].map((server) => server.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}
