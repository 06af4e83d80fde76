import type { Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import { numbers } from './instruments.ts';

/** `cannot-tell`: the upstreams could not be compared at the same block. */
export const auditOutcomes = ['agrees', 'differs', 'cannot-tell'] as const;

export type AuditOutcome = (typeof auditOutcomes)[number];

/** The audits and checks of one upstream since the gateway started. */
export interface AuditCounts {
  /** Number of audits by outcome. */
  readonly outcomes: Readonly<Record<AuditOutcome, number>>;
  /** The last one that differed; undefined: none did. */
  readonly difference: LastDifference | undefined;
}

interface LastDifference {
  /** Time of the audit, by clock.now(). */
  readonly at: number;
  /** The upstream of which the result differed, and no third one decided; undefined: others agree. */
  readonly from: string | undefined;
}

const noCounts: AuditCounts = { outcomes: { agrees: 0, differs: 0, 'cannot-tell': 0 }, difference: undefined };

/** The metrics of the audits of one network. */
export interface NetworkAuditMetrics {
  begun(): void;
  ended(): void;
  /** @param outcome of one upstream in one audit @param from `differs`: the other one, if no third one decides */
  audited(upstream: string, outcome: AuditOutcome, from?: string): void;
}

/** Counts the audits of upstreams: reads that are repeated on another upstream. */
export class AuditMetrics {
  readonly #page: Registry;
  /** Counts by network and upstream. */
  readonly #counts = new Map<string, AuditCounts>();

  constructor(page: Registry) {
    this.#page = page;
  }

  /** @param upstreams their series begin at 0, so that alerts notice the first difference */
  networkMetrics(network: string, upstreams: readonly string[]): NetworkAuditMetrics {
    const inProgress = numbers(this.#page, 'gatehouse_audits_in_progress').labels(network);
    inProgress.add(0);
    const audits = numbers(this.#page, 'gatehouse_audits_total');
    for (const upstream of upstreams)
      for (const outcome of auditOutcomes) audits.labels(network, upstream, outcome).add(0);
    return {
      begun: inProgress.add.bind(inProgress, 1),
      ended: inProgress.add.bind(inProgress, -1),
      audited: (upstream, outcome, from) => {
        audits.labels(network, upstream, outcome).add();
        const { outcomes, difference } = this.countsOf(network, upstream) ?? noCounts;
        this.#counts.set(keyOf(network, upstream), {
          outcomes: { ...outcomes, [outcome]: outcomes[outcome] + 1 },
          difference: outcome === 'differs' ? { at: clock.now(), from } : difference,
        });
      },
    };
  }

  /** Counts of an upstream; undefined: no audit of it has ended, and no result of it was checked. */
  countsOf(network: string, upstream: string): AuditCounts | undefined {
    return this.#counts.get(keyOf(network, upstream));
  }

  /** Forgets the counts of upstreams that were closed. Their series are removed with those of other metrics. */
  forget(network: string, upstreams: readonly string[]): void {
    for (const upstream of upstreams) this.#counts.delete(keyOf(network, upstream));
  }
}

function keyOf(network: string, upstream: string): string {
  return `${network}\n${upstream}`;
}
