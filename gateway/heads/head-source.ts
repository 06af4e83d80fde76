import type { UpstreamHeadMetrics } from '../metrics/head-metrics.ts';

/** An upstream as the source of heads. */
export interface HeadSource {
  readonly name: string;
  readonly circuit: { readonly isClosed: boolean };
  /** By the last check of its chain id, which precedes the first request. */
  readonly isOnOtherChain: boolean;
  /** Since its head was last polled, it failed or returned an older one: its node may have started anew. */
  isHeadUncertain: boolean;
  readonly metrics: UpstreamHeadMetrics;
  /** Checks the chain id again. @returns whether it is that of the network; false also without a response. Never rejects. */
  verifyChain(): Promise<boolean>;
  /** It gets no calls, and the network file forbids polls until it does. */
  isUnwatched(now: number): boolean;
  /**
   * Sends a request of Gatehouse itself, without a caller.
   * @param params as JSON text
   * @throws Error if there is no result within the timeout of the upstream
   */
  fetchResult(method: string, params: string): Promise<unknown>;
  /**
   * Subscribes at the upstream over its WebSocket.
   * @param params of eth_subscribe, as JSON text
   * @returns undefined if it has no WebSocket
   */
  subscribe(params: string, events: FeedEvents): Feed | undefined;
}

/** An upstream that each round probes, also if its head is not followed. */
export interface Probed {
  /** Checks the chain id if due. */
  probeIfIdle(now: number): void;
}

export interface FeedEvents {
  /** The subscription is open. */
  started(): void;
  notified(result: unknown): void;
  /** Called once when the subscription ends, unless Gatehouse closed it. */
  ended(): void;
}

export interface Feed {
  close(): void;
}
