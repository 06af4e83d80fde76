import { clock } from '../clock/clock.ts';
import type { NetworkMetrics } from '../metrics/series.ts';
import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { RangePart } from '../upstreams/range-part.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import type { RangeFilter } from './range-filter.ts';
import type { RangeLimits } from './range-limits.ts';

/** A range that is sent in one call, which may be a part of a larger one. Records at the limits what upstreams return to it. */
export class SentRange implements RangePart {
  readonly range: BlockRange;
  /** Upstream that is selected first, unless it has a skip reason. */
  readonly first: Upstream | undefined;
  /** `allows` was false for an upstream that would have been selected. */
  hasSkipped = false;
  readonly #limits: RangeLimits<Upstream>;
  readonly #filter: RangeFilter;
  readonly #metrics: NetworkMetrics | undefined;
  #returnedBy: Upstream | undefined;

  /** @param metrics undefined: the range is no part of a larger one */
  constructor(
    range: BlockRange,
    first: Upstream | undefined,
    limits: RangeLimits<Upstream>,
    filter: RangeFilter,
    metrics?: NetworkMetrics,
  ) {
    this.range = range;
    this.first = first;
    this.#limits = limits;
    this.#filter = filter;
    this.#metrics = metrics;
  }

  /** Whether the upstream has not refused such a range before. */
  allows(upstream: Upstream): boolean {
    const blocks = blocksIn(this.range);
    if (
      this.#limits.isEmpty ||
      upstream === this.first ||
      blocks <= this.#limits.widestFor(upstream, this.#filter.key, clock.now())
    )
      return true;
    this.hasSkipped = true;
    return false;
  }

  /** The upstream returned that the range or its result is too large. */
  refused(upstream: Upstream, response: UpstreamResponse | undefined): void {
    this.#metrics?.partSent(upstream.name, 'too-large');
    const kind = limitKindOf(response?.kind === 'error' ? response.message : '');
    this.#limits.recordRefused(upstream, this.#filter.key, kind, blocksIn(this.range), clock.now());
  }

  /** The upstream returned nothing usable. */
  failed(upstream: Upstream): void {
    this.#metrics?.partSent(upstream.name, 'failed');
  }

  returned(upstream: Upstream): void {
    this.#metrics?.partSent(upstream.name, 'result');
    this.#returnedBy = upstream;
  }

  /** Records the size of the result of the upstream that returned it. */
  recordBytes(bytes: number): void {
    if (this.#returnedBy === undefined) return;
    this.#limits.recordReturned(this.#returnedBy, this.#filter.key, blocksIn(this.range), bytes);
  }
}
