import type { Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import { numbers } from './instruments.ts';

/** The head metrics of one upstream. Requests for heads are counted here, not among the attempts, which are for calls. */
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

/** The metrics of head tracking. */
export class HeadMetrics {
  readonly #page: Registry;

  constructor(page: Registry) {
    this.#page = page;
  }

  upstreamMetrics(network: string, upstream: string): UpstreamHeadMetrics {
    const lag = numbers(this.#page, 'gatehouse_upstream_head_lag_blocks').labels(network, upstream);
    const of = [network, upstream] as const;
    return {
      moved: (block) => {
        numbers(this.#page, 'gatehouse_upstream_head_block')
          .labels(...of)
          .set(block);
        numbers(this.#page, 'gatehouse_upstream_head_moved_timestamp_seconds')
          .labels(...of)
          .set(clock.unixMs() / 1000);
      },
      lag: lag.set.bind(lag),
      onOtherBranch: (isMarked) => {
        numbers(this.#page, 'gatehouse_upstream_on_other_branch')
          .labels(...of)
          .set(Number(isMarked));
      },
      polled: (outcome) => {
        numbers(this.#page, 'gatehouse_head_polls_total')
          .labels(...of, outcome)
          .add();
      },
      notified: () => {
        numbers(this.#page, 'gatehouse_head_notifications_total')
          .labels(...of)
          .add();
      },
    };
  }

  networkMetrics(network: string): NetworkHeadMetrics {
    return {
      head: (block) => {
        numbers(this.#page, 'gatehouse_network_head_block').labels(network).set(block);
      },
      witnessesMissing: (areMissing) => {
        numbers(this.#page, 'gatehouse_network_witnesses_missing').labels(network).set(Number(areMissing));
      },
    };
  }
}
