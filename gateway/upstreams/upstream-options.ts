import type { Log } from '../config/log.ts';
import type { UpstreamMetrics } from '../metrics/instruments.ts';
import type { UpstreamLimitsConfig } from '../network-files/network-config.ts';
import type { Transport } from './transport/transport.ts';
import type { SubscriptionLink } from './transport/websocket-subscription.ts';

export interface UpstreamOptions {
  readonly name: string;
  readonly chainId: number;
  readonly transport: Transport;
  /** For one attempt. */
  readonly timeoutMs: number;
  readonly priority?: number | undefined;
  readonly archive?: boolean | undefined;
  readonly limits?: UpstreamLimitsConfig | undefined;
  /** Resolves when the local node that the gateway starts is ready; calls wait for it. */
  readonly starting?: Promise<unknown>;
  /** For subscriptions. */
  readonly webSocket?: SubscriptionLink & Pick<Transport, 'close'>;
  readonly metrics: UpstreamMetrics;
  /** The log of the network. */
  readonly log: Log;
}
