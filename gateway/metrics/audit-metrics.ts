import type { Registry } from 'prom-client';
import { CounterMetric, GaugeMetric } from './counters.ts';

/** The outcomes of the audits of one upstream since the gateway started. */
export interface AuditCounts {
  readonly agrees: number;
  readonly differs: number;
  readonly cannotTell: number;
}

/** The metrics of the audits of one network. */
export interface NetworkAuditMetrics {
  begun(): void;
  ended(): void;
  /** @param outcome of one upstream in one audit */
  audited(upstream: string, outcome: 'agrees' | 'differs' | 'cannot-tell'): void;
  /** For the status page. Undefined: no audit of the upstream has ended. */
  countsOf(upstream: string): AuditCounts | undefined;
}

/** Counts the audits of upstreams: reads that are repeated on another upstream. */
export class AuditMetrics {
  readonly #audits: CounterMetric;
  readonly #inProgress: GaugeMetric;

  constructor(registry: Registry) {
    this.#audits = new CounterMetric(
      {
        name: 'gatehouse_audits_total',
        help: 'Audits in which the upstream took part, by outcome: agrees, differs (from other upstreams, or from the hash of its own header), cannot-tell (not comparable)',
        labelNames: ['network', 'upstream', 'outcome'],
      },
      registry,
    );
    this.#inProgress = new GaugeMetric(
      {
        name: 'gatehouse_audits_in_progress',
        help: 'Audits that have begun and not ended; only with `audit` in the network file',
        labelNames: ['network'],
      },
      registry,
    );
  }

  networkMetrics(network: string): NetworkAuditMetrics {
    const inProgress = this.#inProgress.labels(network);
    const countOf = (upstream: string, outcome: string): number =>
      this.#audits.labels(network, upstream, outcome).value;
    return {
      begun: () => {
        inProgress.value++;
      },
      ended: () => {
        inProgress.value--;
      },
      audited: (upstream, outcome) => {
        this.#audits.labels(network, upstream, outcome).value++;
      },
      countsOf: (upstream) => {
        const counts = {
          ...{ agrees: countOf(upstream, 'agrees'), differs: countOf(upstream, 'differs') },
          cannotTell: countOf(upstream, 'cannot-tell'),
        };
        return counts.agrees + counts.differs + counts.cannotTell > 0 ? counts : undefined;
      },
    };
  }
}
