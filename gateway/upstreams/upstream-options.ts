import type { Log } from '../config/log.ts';
import type { PollMessage } from './health/own-requests.ts';
import type { FailedOutcome } from './outcome.ts';
import type { ErrorResponse } from './transport/upstream-response.ts';
import type { SharedLimits } from './upstream-limits.ts';
import type { UpstreamMetrics } from '../metrics/metrics.ts';
import type { Transport } from './transport/transport.ts';
import type { SubscriptionLink } from './transport/websocket-subscription.ts';

export interface UpstreamOptions {
  readonly shared: SharedLimits;
  readonly chainId: number;
  /** Classifies an error in response to a check of the chain id, or a poll. Undefined: it is not an upstream failure. */
  readonly classifyError?: (error: ErrorResponse) => FailedOutcome | undefined;
  /** Sends what a poll shows to the other workers. Undefined: there are none. */
  readonly onPolled?: ((failed: PollMessage['failed']) => void) | undefined;
  readonly transport: Transport;
  /** Time for one attempt, if the network file sets no timeout. */
  readonly defaultTimeoutMs: number;
  /** Resolves when the local node that the gateway starts is ready; calls wait for it. */
  readonly starting?: Promise<unknown>;
  /** Link for subscriptions. */
  readonly webSocket?: SubscriptionLink & Pick<Transport, 'close' | 'secrets' | 'slots' | 'watch'>;
  readonly metrics: UpstreamMetrics;
  /** The log of the network. */
  readonly log: Log;
}
