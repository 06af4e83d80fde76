import type { Registry } from 'prom-client';
import { CounterMetric } from './counters.ts';

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
    this.#parts = new CounterMetric(
      {
        name: 'gatehouse_range_parts_total',
        help: 'Parts of ranges of blocks that were sent to an upstream, by outcome: result, too-large (its parts are narrower for 10 min), failed',
        labelNames: ['network', 'upstream', 'outcome'],
      },
      registry,
    );
    this.#splits = new CounterMetric(
      {
        name: 'gatehouse_range_splits_total',
        help: 'Ranges and parts that were divided, by reason: range, results or addresses (an upstream rejected it), learned (known before it was sent)',
        labelNames: ['network', 'reason'],
      },
      registry,
    );
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
