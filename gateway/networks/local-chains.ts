import { findAnvil } from '../config/find-anvil.ts';
import { errorCode, type Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import {
  upstreamIdentity,
  type ChainConfig,
  type FixedUpstreamOptions,
  type NetworkConfig,
} from '../network-files/network-config.ts';
import type { DemoChain } from '../../local-chain/demo-chain.ts';
import type { FundedAccounts } from '../../local-chain/funded-accounts.ts';
import type { LocalNode } from '../../local-chain/local-node.ts';

/** The folder local-chain/; undefined in images, which do not have it. */
export async function loadLocalChain() {
  try {
    return await import('../../local-chain/local-chain.ts');
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** The URL of a spawned upstream, and when it is ready. */
export interface Spawned {
  readonly url: string;
  readonly ready: Promise<unknown>;
}

/** The first local chain, and what is shown of it. */
export interface RunningDemo {
  readonly slug: string;
  readonly chain: DemoChain;
  readonly funded: FundedAccounts;
}

/** Starts and stops a local chain for each upstream with `spawn`. Never in production. */
export class LocalChains {
  readonly #log: Log;
  readonly #unavailableReason: string | undefined;
  /** Chains by identity of the upstream. */
  readonly #chains = new Map<string, Spawned & { readonly node: LocalNode }>();
  #demo: Promise<RunningDemo | undefined> | undefined;
  #leftOut: readonly string[] = [];

  /** @param isShared the gateway has several workers, each of which would have a chain of its own */
  constructor(settings: Pick<Settings, 'NODE_ENV'>, log: Log, isShared = false) {
    this.#log = log;
    this.#unavailableReason = unavailableReason(settings, isShared);
  }

  /** The first chain and its network, once the chain is ready; undefined if there is none. */
  get demo(): Promise<RunningDemo | undefined> {
    return this.#demo ?? Promise.resolve(undefined);
  }

  /** One line for each network left out at the last start, with the reason. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** @returns undefined for an upstream that is not spawned */
  at(identity: string): Spawned | undefined {
    return this.#chains.get(identity);
  }

  /**
   * Starts the chains that do not run yet, without waiting until they are ready.
   * @returns the networks that can be served; networks without an upstream are left out
   */
  async start(configs: readonly NetworkConfig[]): Promise<NetworkConfig[]> {
    const reason = this.#unavailableReason;
    const isLeftOut = ({ upstreams }: NetworkConfig): boolean => upstreams.every(({ spawn }) => spawn !== undefined);
    const leftOut = reason === undefined ? [] : configs.filter(isLeftOut);
    this.#leftOut = leftOut.map(({ slug }) => `${slug} is left out: ${reason ?? ''}`);
    if (reason === undefined) {
      for (const config of configs) {
        for (const upstream of config.upstreams) {
          const identity = upstreamIdentity(config, upstream);
          const { spawn }: FixedUpstreamOptions = upstream;
          if (spawn !== undefined && !this.#chains.has(identity)) await this.#start(config, identity);
        }
      }
    }
    return configs.filter((config) => !leftOut.includes(config));
  }

  /** Stops the chains of all other upstreams. */
  async keepOnly(identities: ReadonlySet<string>): Promise<void> {
    const unused = [...this.#chains].filter(([identity]) => !identities.has(identity));
    for (const [identity] of unused) this.#chains.delete(identity);
    await Promise.all(unused.map(([, { node }]) => node.stop()));
  }

  stop(): Promise<void> {
    return this.keepOnly(new Set());
  }

  async #start({ slug, chainId }: ChainConfig, identity: string): Promise<void> {
    const local = await loadLocalChain();
    if (local === undefined) throw new Error('the folder local-chain/ is missing');
    const node = await local.startLocalNode({ chainId, log: this.#log });
    const ready = node.ready.then(async (funded) => ({ slug, funded, chain: await local.makeDemoChain(node.url) }));
    this.#chains.set(identity, { url: node.url, ready, node });
    const made = ready.catch((error: unknown) => {
      // The chain was stopped before it was ready: not an error.
      if (!this.#chains.has(identity)) return undefined;
      this.#log.error({ detail: error instanceof Error ? error.message : '' }, 'the local chain did not start');
      return undefined;
    });
    this.#demo ??= made;
  }
}

function unavailableReason({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>, isShared: boolean): string | undefined {
  if (NODE_ENV === 'production') return 'its upstream is a development chain, which does not start in production';
  if (isShared) return 'its upstream is a development chain, which needs WORKERS=1';
  return findAnvil() === undefined ? 'anvil is not installed (npm ci without --omit=dev installs it)' : undefined;
}
