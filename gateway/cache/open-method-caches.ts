import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { CacheMetrics } from '../metrics/cache-metrics.ts';
import { isDevelopmentChain } from '../network-files/chains/development-chain.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { ResponseCache } from './response-cache.ts';
import { FinalizedBlock } from './finalized-block.ts';
import { MethodCache } from './method-cache.ts';
import type { RedisCache } from './redis-cache.ts';
import type { NewestServedBlock } from './newest-served-block.ts';

export interface MethodCachesOptions {
  readonly config: NetworkConfig;
  readonly cache: ResponseCache;
  /** Undefined: no other gateway is told, or asked. */
  readonly redisCache: RedisCache | undefined;
  readonly chain: CanonicalChain;
  readonly newestServed: NewestServedBlock;
  readonly metrics: CacheMetrics;
  /** Asks the network's upstreams for the block of the tag `finalized`. */
  readonly finalized: () => Promise<unknown>;
}

/**
 * Makes what keeps the answers of each method of one network; undefined for methods whose answers are not kept. On a
 * development chain none are: its state is set, and its blocks are taken back, final or not, at any moment.
 */
export function openMethodCaches(parts: MethodCachesOptions): (spec: MethodSpec) => MethodCache | undefined {
  const { config, cache, redisCache, chain, newestServed, metrics } = parts;
  if (isDevelopmentChain(config)) return () => undefined;
  const finalized = new FinalizedBlock(chain, parts.finalized);
  return (spec) => {
    if (spec.cache === undefined) return undefined;
    const count = metrics.lookups(config.slug, spec.name);
    // Under the same name there may be another chain one day.
    return new MethodCache({
      network: `${config.slug}:${config.chainId}`,
      spec,
      cache,
      redisCache,
      chain,
      finalized,
      newestServed,
      count,
    });
  };
}
