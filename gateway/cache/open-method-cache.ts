import type { ChainPoller } from '../chain/poller.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { isDevelopmentChain, type NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { DurableCache } from './durable-cache.ts';
import { FinalChain, type FetchBlock } from './final-chain.ts';
import { MethodCache } from './method-cache.ts';
import type { ResponseCache } from './response-cache.ts';
import { SharedChain } from './shared-chain.ts';

export interface CacheParts {
  readonly config: NetworkConfig;
  /** Cache of responses; undefined: responses are not cached. */
  readonly cache: ResponseCache | undefined;
  /** Durable cache; undefined: results are in memory only. */
  readonly durable: DurableCache | undefined;
  readonly chain: ChainPoller;
  readonly metrics: Metrics;
}

/**
 * Opens what the caches of all methods of a network share; undefined if nothing is cached. Development chains have no cache:
 * their state can be set, and final blocks removed, at any time.
 * @param previous of the same chain before a reload
 */
export function openFinalChain(
  { config, cache, durable, chain }: CacheParts,
  fetch: FetchBlock,
  previous: FinalChain | undefined,
): FinalChain | undefined {
  if (cache === undefined || isDevelopmentChain(config)) return undefined;
  if (previous !== undefined) return previous;
  return new FinalChain(chain, fetch, (id) => durable && new SharedChain(durable, chainName(config), id));
}

/** Opens the cache of one method; undefined for methods without a cache rule. */
export function openMethodCache(
  { config, cache, durable, chain, metrics }: CacheParts,
  final: FinalChain | undefined,
  spec: MethodSpec,
): MethodCache | undefined {
  if (cache === undefined || final === undefined || spec.cache === undefined) return undefined;
  const count = metrics.cacheMetric(config.slug, spec.name);
  return new MethodCache({ network: chainName(config), spec, cache, durable, chain, final, count });
}

/** Name with the chain id, because the same slug may get another chain later. */
function chainName({ slug, chainId }: NetworkConfig): string {
  return `${slug}:${chainId}`;
}
