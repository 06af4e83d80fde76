import type { Counter, Gauge, Registry } from 'prom-client';
import { counter, gauge } from './instruments.ts';

/** The metrics of head tracking. Its requests are counted here, not among the attempts, which are for calls. */
export class HeadMetrics {
  readonly #head: Gauge<'network' | 'upstream'>;
  readonly #moved: Gauge<'network' | 'upstream'>;
  readonly #lag: Gauge<'network' | 'upstream'>;
  readonly #otherBranch: Gauge<'network' | 'upstream'>;
  readonly #polls: Counter<'network' | 'upstream' | 'outcome'>;
  readonly #notifications: Counter<'network' | 'upstream'>;
  readonly #networkHead: Gauge<'network'>;
  readonly #missing: Gauge<'network'>;

  constructor(registry: Registry) {
    this.#head = gauge(registry, 'gatehouse_upstream_head_block');
    this.#moved = gauge(registry, 'gatehouse_upstream_head_moved_timestamp_seconds');
    this.#lag = gauge(registry, 'gatehouse_upstream_head_lag_blocks');
    this.#otherBranch = gauge(registry, 'gatehouse_upstream_on_other_branch');
    this.#polls = counter(registry, 'gatehouse_head_polls_total');
    this.#notifications = counter(registry, 'gatehouse_head_notifications_total');
    this.#networkHead = gauge(registry, 'gatehouse_network_head_block');
    this.#missing = gauge(registry, 'gatehouse_network_witnesses_missing');
  }

  upstreamMetrics(network: string, upstream: string): UpstreamHeadMetrics {
    const head = this.#head.labels(network, upstream);
    const moved = this.#moved.labels(network, upstream);
    const lag = this.#lag.labels(network, upstream);
    const otherBranch = this.#otherBranch.labels(network, upstream);
    const notifications = this.#notifications.labels(network, upstream);
    return {
      moved: (block) => {
        head.set(block);
        moved.setToCurrentTime();
      },
      lag: (blocks) => {
        lag.set(blocks);
      },
      onOtherBranch: (isMarked) => {
        otherBranch.set(isMarked ? 1 : 0);
      },
      polled: (outcome) => {
        this.#polls.inc({ network, upstream, outcome });
      },
      notified: () => {
        notifications.inc();
      },
    };
  }

  networkMetrics(network: string): NetworkHeadMetrics {
    const head = this.#networkHead.labels(network);
    const missing = this.#missing.labels(network);
    return {
      head: (block) => {
        head.set(block);
      },
      witnessesMissing: (areMissing) => {
        missing.set(areMissing ? 1 : 0);
      },
    };
  }
}

/** The head metrics of one upstream. */
export interface UpstreamHeadMetrics {
  moved(block: number): void;
  /** @param blocks distance to the network's head */
  lag(blocks: number): void;
  /** @param isMarked it is marked as being on another branch */
  onOtherBranch(isMarked: boolean): void;
  /** @param outcome `response`, or the failure class */
  polled(outcome: string): void;
  /** A new head was received over the WebSocket. */
  notified(): void;
}

export interface NetworkHeadMetrics {
  head(block: number): void;
  /** @param areMissing fewer groups have the newest blocks than must have those on which proofs rest */
  witnessesMissing(areMissing: boolean): void;
}
