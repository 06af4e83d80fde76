import { Explanation } from '../../observability/explanation.ts';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../../config/log.ts';
import type { BatchLimits } from '../../call/handle-batch.ts';
import type { Authenticator } from '../../auth/authenticate.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { NetworkFinder } from '../../networks/find-network.ts';
import type { Network } from '../../call/call.ts';
import type { Account } from '../../admission/account.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { RecentCalls } from '../../observability/recent-calls.ts';
import type { CallTracing } from '../../observability/tracing.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** Memory of a request in progress besides its bytes: headers, context, promises, timers. */
export const REQUEST_BYTES = 4_096;
/** Memory of a decoded request per byte of its body, besides the body. */
export const DECODED_FACTOR = 2;

/** What requests over HTTP and WebSocket need. */
export interface RequestOptions {
  readonly networks: NetworkFinder<Network>;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Log of accesses; undefined: requests, upgrades and messages are not logged. */
  readonly accessLog: Log | undefined;
  readonly memory: MemoryBudget;
  readonly callTimeoutMs: number;
  readonly batch: BatchLimits;
  /** Tracing of calls; undefined if no spans are exported. */
  readonly tracing: CallTracing | undefined;
  /** Recent calls; undefined: there is no admin API that shows them. */
  readonly recentCalls: RecentCalls | undefined;
}

export interface RpcRouteOptions extends RequestOptions {
  /** Account whose share of the memory budget a request uses before its key is known. */
  readonly accountOf: (request: IncomingMessage) => Account;
  readonly rejectedBodies: RejectedBodies;
  readonly nextRequestId: () => string;
  readonly bodyMaxBytes: number;
  /** Larger responses are gzipped for clients that accept it; undefined: none. */
  readonly compressOverBytes: number | undefined;
  /** Whether a browser that opens an RPC address gets the status page, from a later route. */
  readonly hasPages: boolean;
}

/** Creates an explanation if the request asks for one. Its key must have the capability `explain`. */
export function createExplanation({ headers, url = '' }: IncomingMessage, network: Network): Explanation | undefined {
  const isRequested = headers['x-gatehouse-explain'] !== undefined || /[?&]explain(?:[=&]|$)/.test(url);
  return isRequested ? new Explanation(network) : undefined;
}
