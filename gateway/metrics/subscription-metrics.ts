import type { Registry } from 'prom-client';
import { numbers } from './instruments.ts';

/** The metrics of the subscriptions of one kind on one network. */
export interface KindSubscriptionMetrics {
  opened(): void;
  closed(): void;
  /** @param count notifications sent */
  notified(count: number): void;
}

/** @param kind from a closed list */
export function subscriptionMetrics(page: Registry, network: string, kind: string): KindSubscriptionMetrics {
  const open = numbers(page, 'gatehouse_subscriptions_open').labels(network, kind);
  const notifications = numbers(page, 'gatehouse_notifications_total').labels(network, kind);
  open.set(0);
  return {
    opened: () => {
      open.add(1);
    },
    closed: () => {
      open.add(-1);
    },
    notified: notifications.add.bind(notifications),
  };
}
