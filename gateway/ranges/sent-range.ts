import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import type { RangePart } from '../routing/routed-call.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import type { RangeLimits } from './range-limits.ts';

/** A range that is sent in one call. Records at the limits what upstreams return to it. */
export class SentRange implements RangePart {
  readonly range: BlockRange;
  readonly first: Upstream | undefined;
  readonly #limits: RangeLimits<Upstream>;
  readonly #filter: string;
  #returnedBy: Upstream | undefined;

  /** @param filter its key */
  constructor(range: BlockRange, first: Upstream | undefined, limits: RangeLimits<Upstream>, filter: string) {
    this.range = range;
    this.first = first;
    this.#limits = limits;
    this.#filter = filter;
  }

  refused(upstream: Upstream, response: UpstreamResponse | undefined): void {
    const kind = limitKindOf(response?.kind === 'error' ? response.message : '');
    this.#limits.recordRefused(upstream, this.#filter, kind, blocksIn(this.range), performance.now());
  }

  returned(upstream: Upstream): void {
    this.#returnedBy = upstream;
  }

  /** Records the size of the result of the upstream that returned it. */
  recordBytes(bytes: number): void {
    if (this.#returnedBy === undefined) return;
    this.#limits.recordReturned(this.#returnedBy, this.#filter, blocksIn(this.range), bytes);
  }
}
