import { Counter, Gauge, type Registry } from 'prom-client';

/** The metrics of head tracking. Its requests are counted here, not among the attempts, which are for calls. */
export class HeadMetrics {
  readonly #head: Gauge<'network' | 'upstream'>;
  readonly #moved: Gauge<'network' | 'upstream'>;
  readonly #lag: Gauge<'network' | 'upstream'>;
  readonly #polls: Counter<'network' | 'upstream' | 'outcome'>;
  readonly #notifications: Counter<'network' | 'upstream'>;
  readonly #networkHead: Gauge<'network'>;

  constructor(registry: Registry) {
    const labelNames = ['network', 'upstream'] as const;
    const registers = [registry];
    this.#head = new Gauge({
      name: 'gatehouse_upstream_head_block',
      help: 'Latest block number seen at the upstream; followed only while the network is in use',
      labelNames,
      registers,
    });
    this.#moved = new Gauge({
      name: 'gatehouse_upstream_head_moved_timestamp_seconds',
      help: 'Unix time in seconds at which that number last changed',
      labelNames,
      registers,
    });
    this.#lag = new Gauge({
      name: 'gatehouse_upstream_head_lag_blocks',
      help: "Blocks by which the upstream was behind the network's head when last polled",
      labelNames,
      registers,
    });
    this.#polls = new Counter({
      name: 'gatehouse_head_polls_total',
      help: 'Polls of an upstream for its head and for missing headers, and probes, by outcome (response, or the failure class)',
      labelNames: [...labelNames, 'outcome'] as const,
      registers,
    });
    this.#notifications = new Counter({
      name: 'gatehouse_head_notifications_total',
      help: 'New heads received from an upstream over its WebSocket',
      labelNames,
      registers,
    });
    this.#networkHead = new Gauge({
      name: 'gatehouse_network_head_block',
      help: "Number of the network's latest block, as its healthy upstreams agree; followed only while the network is in use",
      labelNames: ['network'] as const,
      registers,
    });
  }

  upstreamMetrics(network: string, upstream: string): UpstreamHeadMetrics {
    const head = this.#head.labels(network, upstream);
    const moved = this.#moved.labels(network, upstream);
    const lag = this.#lag.labels(network, upstream);
    const notifications = this.#notifications.labels(network, upstream);
    return {
      moved: (block) => {
        head.set(block);
        moved.setToCurrentTime();
      },
      lag: (blocks) => {
        lag.set(blocks);
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
    return {
      head: (block) => {
        head.set(block);
      },
    };
  }
}

/** The head metrics of one upstream. */
export interface UpstreamHeadMetrics {
  moved(block: number): void;
  /** @param blocks distance to the network's head */
  lag(blocks: number): void;
  /** @param outcome `response`, or the failure class */
  polled(outcome: string): void;
  /** A new head was received over the WebSocket. */
  notified(): void;
}

export interface NetworkHeadMetrics {
  head(block: number): void;
}
