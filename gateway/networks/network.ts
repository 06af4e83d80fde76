import type { NetworkHeads } from '../heads/network-heads.ts';
import type { NewestServedBlock } from '../cache/newest-served-block.ts';
import type { MethodCache } from '../cache/method-cache.ts';
import type { CallMetric } from '../metrics/call-metric.ts';
import type { SocketMetrics } from '../metrics/instruments.ts';
import type { UseCount } from './use-count.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { CoalescedCalls } from '../routing/coalesce.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { NetworkFilters } from '../subscriptions/network-filters.ts';
import type { NetworkSubscriptions } from '../subscriptions/network-subscriptions.ts';
import type { CallQueue } from '../routing/call-queue.ts';
import type { LargeResponse } from '../upstreams/transport/upstream-response.ts';
import type { Router } from '../routing/router.ts';
import type { MethodUsage } from '../usage/method-usage.ts';

/** A network with all that a call needs, made once for as long as its file stays as it is. */
export interface Network {
  readonly config: NetworkConfig;
  readonly methods: ReadonlyMap<string, NetworkMethod>;
  /** For methods that the network does not serve. */
  readonly otherMethods: { readonly metric: CallMetric; readonly usage: MethodUsage };
  readonly upstreams: Router;
  /** Before the upstreams. */
  readonly queue: CallQueue;
  /** Before the queue. */
  readonly coalesced: CoalescedCalls;
  /** Its newest blocks; close it before the upstreams. */
  readonly heads: NetworkHeads;
  readonly newestServed: NewestServedBlock;
  readonly subscriptions: NetworkSubscriptions;
  readonly filters: NetworkFilters;
  /** Its OpenRPC document; made when it is first asked for. */
  readonly document: () => LargeResponse;
  /** For the WebSockets of callers. */
  readonly sockets: SocketMetrics;
  /** Held from the moment it was found until the answer: it may be replaced meanwhile, and is closed after that. */
  readonly use: UseCount;
}

export interface NetworkMethod {
  readonly spec: MethodSpec;
  readonly check: ParamCheck;
  /** The result as JSON text, where the gateway knows it by itself. */
  readonly localResult: string | undefined;
  /** Answered by the caller's WebSocket. */
  readonly isSocketMethod: boolean;
  /** Whether two that ask the same at the same time may share a reply. */
  readonly isCoalescable: boolean;
  /** Whether it may change what others are told from then on. */
  readonly changesChain: boolean;
  readonly metric: CallMetric;
  /** Undefined: nothing that it answered is kept. */
  readonly cache: MethodCache | undefined;
  /** What each key does with it. */
  readonly usage: MethodUsage;
}
