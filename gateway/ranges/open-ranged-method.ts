import type { ResponseCache } from '../cache/response-cache.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { PartCache } from './part-cache.ts';
import { RangeLimits } from './range-limits.ts';
import { RangedMethod, type RangedMethodOptions } from './ranged-method.ts';

export interface RangeParts extends Omit<RangedMethodOptions, 'spec' | 'limits' | 'cache'> {
  readonly config: NetworkConfig;
  /** Undefined: responses are not cached. */
  readonly cache: ResponseCache | undefined;
}

/**
 * Opens a method that splits; undefined for other methods.
 * @param previous before a reload; its limits are continued
 */
export function openRangedMethod(
  spec: MethodSpec,
  { config, cache, ...parts }: RangeParts,
  previous: RangedMethod | undefined,
): RangedMethod | undefined {
  if (spec.splits === undefined) return undefined;
  const { final } = parts;
  const network = `${config.slug}:${config.chainId}`;
  return new RangedMethod({
    ...parts,
    spec,
    limits: previous?.limits ?? new RangeLimits<Upstream>(),
    cache: cache && final && new PartCache(cache, final, network, spec.name),
  });
}
