import type { NetworkHeads } from './heads/network-heads.ts';
import type { ToldBlock } from './cache/told-block.ts';
import type { MethodCache } from './cache/method-cache.ts';
import type { CallMeter } from './metrics/call-meter.ts';
import type { SocketMeters } from './metrics/meters.ts';
import type { InUse } from './network/in-use.ts';
import type { NetworkConfig } from './network/network-config.ts';
import type { SharedCalls } from './shared-calls.ts';
import type { ParamCheck } from './spec/check-params.ts';
import type { MethodSpec } from './spec/method-spec.ts';
import type { NetworkFilters } from './subscriptions/network-filters.ts';
import type { NetworkSubscriptions } from './subscriptions/network-subscriptions.ts';
import type { CallQueue } from './upstream/call-queue.ts';
import type { LargeReply } from './upstream/reply.ts';
import type { Upstreams } from './upstream/upstreams.ts';
import type { MethodUsage } from './usage/method-usage.ts';

/** A network with all that a call needs, made once for as long as its file stays as it is. */
export interface ServedNetwork {
  readonly config: NetworkConfig;
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** For methods that the network does not serve. */
  readonly otherMethods: { readonly meter: CallMeter; readonly usage: MethodUsage };
  readonly upstreams: Upstreams;
  /** Before the upstreams. */
  readonly queue: CallQueue;
  /** Before the queue. */
  readonly shared: SharedCalls;
  /** Its newest blocks; close it before the upstreams. */
  readonly heads: NetworkHeads;
  readonly told: ToldBlock;
  readonly subscriptions: NetworkSubscriptions;
  readonly filters: NetworkFilters;
  /** Its OpenRPC document; made when it is first asked for. */
  readonly document: () => LargeReply;
  /** For the WebSockets of callers. */
  readonly sockets: SocketMeters;
  /** Held from the moment it was found until the answer: it may be replaced meanwhile, and is closed after that. */
  readonly use: InUse;
}

export interface ServedMethod {
  readonly spec: MethodSpec;
  readonly check: ParamCheck;
  /** The result as JSON text, where the gateway knows it by itself. */
  readonly localResult: string | undefined;
  /** Answered by the caller's WebSocket. */
  readonly isOfSocket: boolean;
  /** Whether two that ask the same at the same time may share a reply. */
  readonly isShared: boolean;
  /** Whether it may change what others are told from then on. */
  readonly movesChain: boolean;
  readonly meter: CallMeter;
  /** Undefined: nothing that it answered is kept. */
  readonly cache: MethodCache | undefined;
  /** What each key does with it. */
  readonly usage: MethodUsage;
}
