import type { Log } from '../config/log.ts';
import type { UpstreamMetrics } from '../metrics/instruments.ts';
import type { UpstreamLimitsConfig } from '../network-files/network-config.ts';
import type { Transport } from './transport/transport.ts';
import type { SubscriptionLink } from './transport/websocket-subscription.ts';

export interface UpstreamOptions {
  readonly name: string;
  readonly chainId: number;
  readonly transport: Transport;
  /** Time for one attempt. */
  readonly timeoutMs: number;
  readonly priority?: number | undefined;
  readonly archive?: boolean | undefined;
  readonly limits?: UpstreamLimitsConfig | undefined;
  /** A node that we start ourselves: calls wait until it is ready. */
  readonly starting?: Promise<unknown>;
  /** Over which it tells what is new. */
  readonly webSocket?: SubscriptionLink & Pick<Transport, 'close'>;
  readonly metrics: UpstreamMetrics;
  /** Of its network. */
  readonly log: Log;
}
