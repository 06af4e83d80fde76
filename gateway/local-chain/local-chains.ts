import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { NetworkConfig, UpstreamConfig } from '../network/network-config.ts';
import { makeDemoChain, type DemoChain } from './demo-chain.ts';
import { findAnvil, startLocalNode, type LocalNode } from './local-node.ts';

export interface LocalChains {
  /** The networks that can be served: without those whose only upstream could not be spawned. */
  readonly networks: readonly NetworkConfig[];
  /** Why networks were left out, a line each. */
  readonly leftOut: readonly string[];
  readonly spawned: ReadonlyMap<UpstreamConfig, Spawned>;
  /** The demo's chain and its network, once it is made; undefined when there is none. */
  readonly demo: Promise<{ slug: string; chain: DemoChain } | undefined>;
  stop(): Promise<void>;
}

/** Where a spawned upstream is to be found, and when. */
export interface Spawned {
  readonly url: string;
  readonly ready: Promise<unknown>;
}

/** Starts a chain for each upstream that asks to be spawned, and does not wait for it. Never in production. */
export async function startLocalChains(
  configs: readonly NetworkConfig[],
  settings: Pick<Settings, 'NODE_ENV'>,
  log: Log,
): Promise<LocalChains> {
  const obstacle = whyNot(settings);
  const networks: NetworkConfig[] = [];
  const leftOut: string[] = [];
  const spawned = new Map<UpstreamConfig, Spawned>();
  const nodes: LocalNode[] = [];
  let isStopping = false;
  const noDemo = (error: unknown): undefined => {
    // Who stops a chain before it is ready knows why it is not.
    if (isStopping) return;
    log.error({ detail: error instanceof Error ? error.message : '' }, 'the local chain did not start');
  };
  let demo: LocalChains['demo'] = Promise.resolve(undefined);
  for (const config of configs) {
    const toSpawn = config.upstreams.filter(({ spawn }) => spawn !== undefined);
    if (obstacle !== undefined && toSpawn.length === config.upstreams.length) {
      leftOut.push(`${config.slug} is left out: ${obstacle}`);
      continue;
    }
    networks.push(config);
    if (obstacle !== undefined) continue;
    for (const upstream of toSpawn) {
      const node = await startLocalNode({ chainId: config.chainId, log });
      nodes.push(node);
      const chain = node.ready.then(() => makeDemoChain(node.url));
      spawned.set(upstream, { url: node.url, ready: chain });
      if (nodes.length === 1) demo = chain.then((made) => ({ slug: config.slug, chain: made }), noDemo);
      else chain.catch(noDemo);
    }
  }
  const stop = async (): Promise<void> => {
    isStopping = true;
    await Promise.all(nodes.map((node) => node.stop()));
  };
  return { networks, leftOut, spawned, demo, stop };
}

function whyNot({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): string | undefined {
  if (NODE_ENV === 'production') return 'it would start a development chain, and this is production';
  return findAnvil() === undefined ? 'anvil is not installed (npm ci without --omit=dev brings it)' : undefined;
}
