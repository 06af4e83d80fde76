import type { Registry } from 'prom-client';
import type { CounterMetric } from './counters.ts';
import { fastCounter } from './instruments.ts';

export type PartOutcome = 'result' | 'too-large' | 'failed';
/** `learned`: no upstream allows the range, as far as is known, so it was not sent as it is. */
export type SplitReason = 'range' | 'results' | 'addresses' | 'none' | 'learned';

/** The metrics of ranges of blocks in parts, of one network. */
export interface NetworkRangeMetrics {
  readonly partSent: (upstream: string, outcome: PartOutcome) => void;
  readonly split: (reason: SplitReason) => void;
}

/** Counts the parts of ranges of blocks. */
export class RangeMetrics {
  readonly #parts: CounterMetric;
  readonly #splits: CounterMetric;

  constructor(registry: Registry) {
    this.#parts = fastCounter(registry, 'gatehouse_range_parts_total');
    this.#splits = fastCounter(registry, 'gatehouse_range_splits_total');
  }

  networkMetrics(network: string): NetworkRangeMetrics {
    return {
      partSent: (upstream, outcome) => {
        this.#parts.labels(network, upstream, outcome).value++;
      },
      split: (reason) => {
        this.#splits.labels(network, reason).value++;
      },
    };
  }
}
