import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { CacheMetrics } from '../metrics/cache-metrics.ts';
import type { NetworkConfig } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { AnswerCache } from './answer-cache.ts';
import { FinalizedBlock } from './finalized-block.ts';
import { MethodCache } from './method-cache.ts';

export interface CacheParts {
  readonly config: NetworkConfig;
  readonly answers: AnswerCache;
  readonly chain: CanonicalChain;
  readonly metrics: CacheMetrics;
  /** Asks the network's upstreams for the block of the tag `finalized`. */
  readonly finalized: () => Promise<unknown>;
}

/** Makes what keeps the answers of each method of one network; undefined for methods whose answers are not kept. */
export function openMethodCaches(parts: CacheParts): (spec: MethodSpec) => MethodCache | undefined {
  const { config, answers, chain, metrics } = parts;
  const finalized = new FinalizedBlock(chain, parts.finalized);
  const keepsAtHead = config.upstreams.every(({ spawn }) => spawn === undefined);
  return (spec) => {
    if (spec.cache === undefined) return undefined;
    const count = metrics.lookups(config.slug, spec.name);
    // Under the same name there may be another chain one day.
    return new MethodCache({
      network: `${config.slug} ${config.chainId}`,
      spec,
      answers,
      chain,
      finalized,
      keepsAtHead,
      count,
    });
  };
}
