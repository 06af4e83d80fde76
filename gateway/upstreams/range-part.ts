import type { UpstreamResponse } from './transport/upstream-response.ts';
import type { Upstream } from './upstream.ts';

/** What a call with a list learns from each upstream: which ranges it allows, or whose list it is. */
export interface RangePart {
  /** Upstream that is selected first, unless it has a skip reason. */
  readonly first?: Upstream | undefined;
  /** `allows` was false for an upstream that would have been selected. */
  readonly hasSkipped?: boolean;
  /** Whether the upstream may get the call. */
  allows(upstream: Upstream): boolean;
  /** The upstream returned that the range or its result is too large. */
  refused?(upstream: Upstream, response: UpstreamResponse | undefined): void;
  /** The upstream returned nothing usable. */
  failed?(upstream: Upstream): void;
  returned(upstream: Upstream): void;
}
