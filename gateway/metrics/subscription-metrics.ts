import { Counter, Gauge, type Registry } from 'prom-client';

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
    this.#open = new Gauge({
      name: 'gatehouse_subscriptions_open',
      help: 'Open subscriptions of WebSocket clients, by kind (newHeads, logs, newPendingTransactions, transactionReceipts, syncing)',
      labelNames: ['network', 'kind'] as const,
      registers: [registry],
    });
    this.#notifications = new Counter({
      name: 'gatehouse_notifications_total',
      help: 'Notifications sent to subscribers, by kind of subscription',
      labelNames: ['network', 'kind'] as const,
      registers: [registry],
    });
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
