import type { FinalChain } from '../cache/final-chain.ts';
import type { NetworkMetrics } from '../metrics/series.ts';
import type { Bounds } from '../spec/bounds.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { PartCache } from './part-cache.ts';
import type { RangeLimits } from './range-limits.ts';

/** What a network has for one method whose filter has a block range. */
export interface RangedMethod {
  readonly spec: MethodSpec;
  /** The method that requests a block by its number or tag. */
  readonly blockByNumber: MethodSpec;
  readonly limits: RangeLimits<Upstream>;
  /** The upstreams that may get calls of the method. */
  readonly candidates: readonly Upstream[];
  readonly head: () => bigint | undefined;
  /** Bounds of the network. */
  readonly bounds: Bounds;
  readonly final: FinalChain | undefined;
  /** Cache of parts; undefined: they are not cached. */
  readonly cache: PartCache | undefined;
  readonly metrics: NetworkMetrics;
}
