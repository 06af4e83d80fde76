import type { RedisCache } from '../cache/redis-cache.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { PartCache } from './part-cache.ts';
import { RangeLimits } from './range-limits.ts';
import { RangedMethod, type RangedMethodOptions } from './ranged-method.ts';

export interface RangeParts extends Omit<RangedMethodOptions, 'spec' | 'limits' | 'cache' | 'candidates' | 'metrics'> {
  readonly config: NetworkConfig;
  /** Undefined: responses are not cached. */
  readonly cache: ResponseCache | undefined;
  /** Undefined: the cache is not shared with other gateways. */
  readonly redisCache: RedisCache | undefined;
  /** Of all networks. */
  readonly metrics: Pick<Metrics, 'cache' | 'ranges'>;
  /** The upstreams that may get calls of a method. */
  readonly candidatesOf: (method: string) => readonly Upstream[];
  /** By method. They are continued after a reload. */
  readonly limits: Map<string, RangeLimits<Upstream>>;
}

/** Opens a method that splits; undefined for other methods. */
export function openRangedMethod(
  spec: MethodSpec,
  { config, cache, redisCache, metrics, candidatesOf, limits, ...parts }: RangeParts,
): RangedMethod | undefined {
  if (spec.splits === undefined) return undefined;
  const { final } = parts;
  const network = `${config.slug}:${config.chainId}`;
  const ofMethod = limits.get(spec.name) ?? new RangeLimits<Upstream>();
  limits.set(spec.name, ofMethod);
  return new RangedMethod({
    ...parts,
    spec,
    limits: ofMethod,
    candidates: candidatesOf(spec.name),
    metrics: metrics.ranges.networkMetrics(config.slug),
    cache:
      cache &&
      final &&
      new PartCache({
        ...{ cache, redisCache, final, network },
        method: spec.name,
        // Callers can name any method of a wildcard.
        count: metrics.cache.lookups(config.slug, spec.openedBy ?? spec.name),
      }),
  });
}
