import type { AuditOutcome } from '../metrics/audit-metrics.ts';

/** The result of one audit, for the explanation of its call. It has hashes in place of contents. */
export interface AuditReport {
  /** Outcome; `not-audited`: nothing was compared. */
  readonly outcome: AuditOutcome | 'not-audited';
  readonly reason: string;
  /** Each upstream that took part: its own outcome, and the SHA-256 of its normalised result. */
  readonly answers: readonly {
    readonly upstream: string;
    readonly outcome: AuditOutcome;
    readonly sha256?: string;
  }[];
}
