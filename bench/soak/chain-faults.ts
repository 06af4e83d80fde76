import { clock } from '../../gateway/clock/clock.ts';
import type { ConnectionFault } from '../../test/faults/fault-proxy.ts';
import type { Random } from '../random.ts';
import type { ChainNetwork, NetworkNode } from './chain-network.ts';
import { MAX_REORG_BLOCKS } from './true-chain.ts';

type Fault = (network: ChainNetwork, random: Random) => Promise<void>;

const outages: readonly ConnectionFault[] = [{ kind: 'refuse' }, { kind: 'vanish' }, { kind: 'hang', at: 'response' }];

/** The faults of networks with several upstreams. A node has one fault at a time. */
const faults: Readonly<Record<string, Fault>> = {
  /** A node is behind, by the same number of blocks for a while. */
  lag: async (network, random) => {
    const node = pickHealthy(network, random);
    if (node === undefined) return;
    node.lagBlocks = random.between(1, 12);
    await clock.sleep(random.between(3, 15) * network.options.blockMs);
    node.lagBlocks = 0;
    network.update(node);
  },
  /** A node takes no blocks, then has all of them at once. */
  stuck: async (network, random) => {
    const node = pickHealthy(network, random);
    if (node === undefined) return;
    node.isStuck = true;
    await clock.sleep(random.between(3, 25) * network.options.blockMs);
    node.isStuck = false;
    network.update(node);
  },
  /** A node cannot be reached. It comes back at its old head, or with the blocks since. */
  outage: async (network, random) => {
    const node = pickHealthy(network, random);
    if (node === undefined) return;
    node.isStuck = random.next() < 0.5;
    await network.setFault(node, random.pick(outages));
    await clock.sleep(random.between(1_000, 12_000));
    await network.setFault(node, undefined);
    if (node.isStuck) await clock.sleep(random.between(100, 3_000));
    node.isStuck = false;
    network.update(node);
  },
  /** All nodes but one fall behind. Then that one, whose blocks were served, cannot be reached. */
  alone: async (network, random) => {
    const best = pickHealthy(network, random);
    if (best === undefined) return;
    const others = network.nodes.filter((node) => node !== best && node.isLive && !node.isStuck);
    for (const node of others) node.isStuck = true;
    await clock.sleep(random.between(2, 8) * network.options.blockMs);
    await network.setFault(best, random.pick(outages));
    await clock.sleep(random.between(2_000, 12_000));
    for (const node of others) {
      node.isStuck = false;
      network.update(node);
    }
    await clock.sleep(random.between(0, 4_000));
    await network.setFault(best, undefined);
  },
  /** A node sends no new heads over its WebSocket. */
  mute: async (network, random) => {
    const node = pickHealthy(network, random);
    if (node === undefined) return;
    node.server.isMuted = true;
    await clock.sleep(random.between(5, 20) * network.options.blockMs);
    node.server.isMuted = false;
  },
  /** The newest blocks are replaced. Half of the time, a node stays on the old branch for a while. */
  reorg: async (network, random) => {
    const node = random.next() < 0.5 ? pickHealthy(network, random) : undefined;
    if (node !== undefined) node.isStuck = true;
    const removed = random.next() < 0.6 ? random.between(1, 3) : random.between(4, MAX_REORG_BLOCKS);
    network.reorg(removed, Math.max(1, removed + random.between(-1, 2)));
    if (node === undefined) return;
    await clock.sleep(random.between(1, 8) * network.options.blockMs);
    node.isStuck = false;
    network.update(node);
  },
  /** A node forges blocks: one or 12 ahead of the head, on a branch of its own or on each head. */
  hostile: async (network, random) => {
    if (network.nodes.some(({ isHostile }) => isHostile)) return;
    const node = pickHealthy(network, random);
    if (node === undefined) return;
    node.isHostile = true;
    const ahead = random.pick([1, 12]);
    const isBranch = random.next() < 0.5;
    for (let blocks = random.between(3, 20); blocks > 0; blocks--) {
      const { head } = network;
      network.forge(node, isBranch && node.isStuck ? node.view.head : head, head.number + ahead);
      await clock.sleep(network.options.blockMs);
    }
    Object.assign(node, { isStuck: false, isHostile: false });
    network.update(node);
  },
};

/** The only node of a network is wiped, and starts again from genesis. */
async function restart(network: ChainNetwork, random: Random): Promise<void> {
  const [node] = network.nodes;
  if (node === undefined) return;
  await network.setFault(node, { kind: 'refuse' });
  await clock.sleep(random.between(300, 2_000));
  network.restart();
  network.update(node);
  await network.setFault(node, undefined);
}

/** Blocks between two restarts. The first blocks are final by then. */
const RESTART_BLOCKS = 45;

/**
 * Makes the nodes of a network fail at random times, of which several may be faulty at the same time. A network with one
 * node starts again from genesis from time to time.
 * @param deadline of new faults, by clock.now() @returns the number of faults by kind
 */
export async function runChainFaults(
  network: ChainNetwork,
  random: Random,
  deadline: number,
): Promise<Record<string, number>> {
  const { blockMs, isPool, isHostile = false } = network.options;
  const startedAt = clock.now();
  const counts: Record<string, number> = {};
  const active: Promise<void>[] = [];
  // Behind one URL, an outage of all nodes is the same as for a single node.
  const kinds =
    network.nodes.length === 1
      ? []
      : Object.keys(faults).filter(
          (kind) => (!isPool || !['mute', 'alone'].includes(kind)) && (isHostile || kind !== 'hostile'),
        );
  const pauseMs = (): number =>
    kinds.length === 0 ? RESTART_BLOCKS * blockMs : random.between(1, 6) * Math.max(blockMs, 500);
  for (;;) {
    const [waitMs, leftMs] = [pauseMs(), deadline - clock.now()];
    await clock.sleep(Math.max(0, Math.min(waitMs, leftMs)));
    // Timers may fire a little before the deadline.
    if (waitMs >= leftMs || clock.now() >= deadline) break;
    const kind = kinds.length === 0 ? 'restart' : random.pick(kinds);
    counts[kind] = (counts[kind] ?? 0) + 1;
    const label = `${kind} since ${((clock.now() - startedAt) / 1_000).toFixed(1)} s`;
    network.activeFaults.add(label);
    network.events?.addChange(`fault begins: ${label}`);
    const ended = (faults[kind] ?? restart)(network, random).finally(() => {
      network.activeFaults.delete(label);
      network.events?.addChange(`fault ends: ${label}`);
    });
    active.push(ended);
  }
  await Promise.all(active);
  return counts;
}

/** A node without a fault. Undefined if there is none. */
function pickHealthy({ nodes }: ChainNetwork, random: Random): NetworkNode | undefined {
  const healthy = nodes.filter(
    ({ isLive, isStuck, lagBlocks, server }) => isLive && !isStuck && lagBlocks === 0 && !server.isMuted,
  );
  return healthy.length === 0 ? undefined : random.pick(healthy);
}
