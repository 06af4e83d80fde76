import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { CacheMetrics } from '../metrics/cache-metrics.ts';
import { isDevelopmentChain } from '../network-files/chains/development-chain.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { ResponseCache } from './response-cache.ts';
import { FinalizedBlock } from './finalized-block.ts';
import { MethodCache } from './method-cache.ts';
import type { RedisCache } from './redis-cache.ts';

export interface MethodCachesOptions {
  readonly config: NetworkConfig;
  readonly cache: ResponseCache;
  /** Undefined: the cache is not shared with other gateways. */
  readonly redisCache: RedisCache | undefined;
  readonly chain: CanonicalChain;
  readonly metrics: CacheMetrics;
  /** Fetches the block of the tag `finalized` from the network's upstreams. */
  readonly finalized: () => Promise<unknown>;
}

/**
 * Returns a function that creates the cache of each method of one network; undefined for methods without a cache rule.
 * Development chains have no cache: their state can be set, and final blocks removed, at any time.
 */
export function openMethodCaches(parts: MethodCachesOptions): (spec: MethodSpec) => MethodCache | undefined {
  const { config, cache, redisCache, chain, metrics } = parts;
  if (isDevelopmentChain(config)) return () => undefined;
  const finalized = new FinalizedBlock(chain, parts.finalized);
  return (spec) => {
    if (spec.cache === undefined) return undefined;
    const count = metrics.lookups(config.slug, spec.name);
    // Has the chain id, because the same slug may get another chain later.
    return new MethodCache({
      network: `${config.slug}:${config.chainId}`,
      spec,
      cache,
      redisCache,
      chain,
      finalized,
      count,
    });
  };
}
