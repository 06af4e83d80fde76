import type { Counter, Gauge, Registry } from 'prom-client';
import { counter, gauge } from './instruments.ts';

/** The metrics of the subscriptions of one kind on one network. */
export interface KindSubscriptionMetrics {
  opened(): void;
  closed(): void;
  /** @param count notifications sent */
  notified(count: number): void;
}

/** The metrics of subscriptions of WebSocket clients. */
export class SubscriptionMetrics {
  readonly #open: Gauge<'network' | 'kind'>;
  readonly #notifications: Counter<'network' | 'kind'>;

  constructor(registry: Registry) {
    this.#open = gauge(registry, 'gatehouse_subscriptions_open');
    this.#notifications = counter(registry, 'gatehouse_notifications_total');
  }

  /** @param kind from a closed list */
  metrics(network: string, kind: string): KindSubscriptionMetrics {
    const open = this.#open.labels(network, kind);
    const notifications = this.#notifications.labels(network, kind);
    open.set(0);
    return {
      opened: () => {
        open.inc();
      },
      closed: () => {
        open.dec();
      },
      notified: (count) => {
        notifications.inc(count);
      },
    };
  }
}
