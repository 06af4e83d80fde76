import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import { makeDemoChain, type DemoChain } from './demo-chain.ts';
import { findAnvil, startLocalNode, type LocalNode } from './local-node.ts';

/** Where a spawned upstream is to be found, and when. */
export interface Spawned {
  readonly url: string;
  readonly ready: Promise<unknown>;
}

/** A chain of our own for each upstream that asks to be spawned. Never in production. */
export class LocalChains {
  readonly #log: Log;
  readonly #unavailableReason: string | undefined;
  readonly #chains = new Map<UpstreamConfig, Spawned & { readonly node: LocalNode }>();
  #demo: Promise<{ slug: string; chain: DemoChain } | undefined> | undefined;
  #leftOut: readonly string[] = [];

  constructor(settings: Pick<Settings, 'NODE_ENV'>, log: Log) {
    this.#log = log;
    this.#unavailableReason = unavailableReason(settings);
  }

  /** The first chain and its network, once it is made; undefined when there is none. */
  get demo(): Promise<{ slug: string; chain: DemoChain } | undefined> {
    return this.#demo ?? Promise.resolve(undefined);
  }

  /** Why networks were left out at the last start, a line each. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** Undefined for an upstream that is not spawned. */
  at(upstream: UpstreamConfig): Spawned | undefined {
    return this.#chains.get(upstream);
  }

  /**
   * Starts the chains that do not run yet, and does not wait for them.
   * @returns the networks that can be served: without those whose only upstream could not be spawned
   */
  async start(configs: readonly NetworkConfig[]): Promise<NetworkConfig[]> {
    const obstacle = this.#unavailableReason;
    const isLeftOut = ({ upstreams }: NetworkConfig): boolean => upstreams.every(({ spawn }) => spawn !== undefined);
    const leftOut = obstacle === undefined ? [] : configs.filter(isLeftOut);
    this.#leftOut = leftOut.map(({ slug }) => `${slug} is left out: ${obstacle ?? ''}`);
    if (obstacle === undefined) {
      for (const config of configs) {
        for (const upstream of config.upstreams) {
          if (upstream.spawn !== undefined && !this.#chains.has(upstream)) await this.#start(config, upstream);
        }
      }
    }
    return configs.filter((config) => !leftOut.includes(config));
  }

  /** Ends the chains of all other upstreams. */
  async keepOnly(upstreams: ReadonlySet<UpstreamConfig>): Promise<void> {
    const loose = [...this.#chains].filter(([upstream]) => !upstreams.has(upstream));
    for (const [upstream] of loose) this.#chains.delete(upstream);
    await Promise.all(loose.map(([, { node }]) => node.stop()));
  }

  stop(): Promise<void> {
    return this.keepOnly(new Set());
  }

  async #start({ slug, chainId }: NetworkConfig, upstream: UpstreamConfig): Promise<void> {
    const node = await startLocalNode({ chainId, log: this.#log });
    const ready = node.ready.then(() => makeDemoChain(node.url));
    this.#chains.set(upstream, { url: node.url, ready, node });
    const made = ready.then(
      (chain) => ({ slug, chain }),
      (error: unknown) => {
        // Who stops a chain before it is ready knows why it is not.
        if (!this.#chains.has(upstream)) return undefined;
        this.#log.error({ detail: error instanceof Error ? error.message : '' }, 'the local chain did not start');
        return undefined;
      },
    );
    this.#demo ??= made;
  }
}

function unavailableReason({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): string | undefined {
  if (NODE_ENV === 'production') return 'it would start a development chain, and this is production';
  return findAnvil() === undefined ? 'anvil is not installed (npm ci without --omit=dev brings it)' : undefined;
}
