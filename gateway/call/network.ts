import type { PublicAccess } from '../auth/public-access.ts';
import type { FinalChain } from '../cache/final-chain.ts';
import type { MethodCache } from '../cache/method-cache.ts';
import type { NetworkResponse } from '../cache/response-cache.ts';
import type { ChainPoller } from '../chain/poller.ts';
import type { CallMetric } from '../metrics/call-metrics.ts';
import type { NetworkMetrics } from '../metrics/series.ts';
import type { Differences } from '../observability/differences.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { OtherUnits } from '../network-files/options/units-option.ts';
import type { RangeLimits } from '../ranges/range-limits.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import type { Bounds, BoundsCheck } from '../spec/bounds.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import type { Handler } from '../spec/handlers.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { OpenRpcText } from '../spec/openrpc-document.ts';
import type { RequestUnits } from '../spec/request-units.ts';
import type { NetworkFilters } from '../subscriptions/network-filters.ts';
import type { NetworkSubscriptions } from '../subscriptions/network-subscriptions.ts';
import type { LargeResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { MethodUsage } from '../usage/method-usage.ts';
import type { CoalescedCalls } from './coalesce.ts';
import type { Router } from './router.ts';
import type { MethodVerification } from './verification.ts';

/**
 * An active network: everything that a call needs, built once for each version of its file. `Network` of call.ts is its type with
 * the layers of a `Call`.
 */
export interface NetworkOf<Serve> {
  readonly config: NetworkConfig;
  readonly methods: MethodsByName<Serve>;
  /** Bounds of one call; a key may have lower ones. */
  readonly bounds: Bounds;
  /** What callers without a key may do; undefined: nothing. */
  readonly publicAccess: PublicAccess | undefined;
  /** The method in place of those that the network does not serve. */
  readonly otherMethods: NetworkMethodOf<Serve>;
  /** Request units of what is no call. */
  readonly otherUnits: OtherUnits;
  /** The methods that callers called and the network does not serve. */
  readonly unserved: {
    record(method: string): void;
    /** The hint for operators: the line of the network file that would open the method. */
    hintFor(method: string): string;
  };
  /** The upstreams, and what their selection depends on. */
  readonly router: Router;
  /** Results in which its upstreams differ. */
  readonly differences: Differences;
  /** Whether results of a method are proven for all callers. */
  readonly isVerified: boolean;
  /** Joins identical calls before they have a slot. */
  readonly coalesced: CoalescedCalls;
  /** Which ranges of blocks each upstream allows, by method. */
  readonly rangeLimits: Map<string, RangeLimits<Upstream>>;
  /** The newest blocks. Close this before the upstreams. */
  readonly chain: ChainPoller<Upstream>;
  /** Chain of final blocks; undefined: nothing is cached. */
  readonly final: FinalChain | undefined;
  readonly subscriptions: NetworkSubscriptions;
  readonly filters: NetworkFilters;
  /** The OpenRPC document, serialised at its first use, and the response of `rpc.discover`. */
  readonly document: () => {
    readonly text: OpenRpcText;
    /** @param origin that the caller uses */
    readonly responseAt: (origin: string | undefined) => LargeResponse;
  };
  readonly metrics: NetworkMetrics;
  /** Counts each request from its lookup to the response. A replaced network is closed after its last request. */
  readonly use: { begin(): void; end(): void; whenUnused(): Promise<void> };
}

/** A result of the gateway itself, as JSON text. */
export interface LocalResponse {
  readonly kind: 'local';
  readonly json: string;
}

/** What a call gets: from an upstream, from the cache, or from the gateway itself. */
export type CallResponse = NetworkResponse | LocalResponse;

/** The methods that a network serves, by name. */
export interface MethodsByName<Serve> {
  get(name: string): NetworkMethodOf<Serve> | undefined;
  has(name: string): boolean;
}

export interface NetworkMethodOf<Serve> {
  readonly spec: MethodSpec;
  readonly check: ParamCheck;
  /** Check of bounds; undefined: nothing in the parameters is bounded. */
  readonly checkBounds: BoundsCheck | undefined;
  /** The request units of a valid call. */
  readonly unitsOf: RequestUnits;
  /** Handler of the method; undefined: calls are sent to upstreams. */
  readonly handler: Handler | undefined;
  /** Whether identical concurrent calls may share one upstream response. */
  readonly isCoalescable: boolean;
  readonly verification: MethodVerification;
  /** Runs after each call that may change the results of later calls; undefined for other methods. */
  readonly afterCall: (() => void) | undefined;
  readonly metric: CallMetric;
  /** Cache of the method; undefined: results are not cached. */
  readonly cache: MethodCache | undefined;
  /** Ranges of the method; undefined: it does not split. */
  readonly ranges: RangedMethod | undefined;
  /** The layers of its calls, from `layersOf`. */
  readonly serve: Serve;
  /** Usage by key. */
  readonly usage: MethodUsage;
}
