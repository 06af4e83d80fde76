import type { AuditOutcome } from '../../metrics/audit-metrics.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { AuditedResponse } from './compare-responses.ts';

/** Why an audit has its outcome, for the log and for explanations. */
export const auditReasons = {
  same: 'the upstreams returned the same',
  'header-only': 'the hash of the header is right; no other upstream is available now',
  'wrong-hash': 'the hash of a block is not that of its header',
  'wrong-parent': 'the parent of a block is not its parent in the followed chain',
  'two-to-one': 'an upstream differs from two others',
  undecided: 'two upstreams differ, and no third one decides',
  'no-upstream': 'no other upstream is available now, or none has the block',
  'no-answer': 'an upstream returned nothing that can be compared',
  'other-block': 'the upstreams have different blocks',
  unsteady: 'an upstream returned something else when the call was repeated',
} as const;

export type AuditReason = keyof typeof auditReasons;

/** The outcome of one upstream in an audit. */
export interface UpstreamOutcome {
  readonly upstream: Upstream;
  readonly outcome: AuditOutcome;
  /** What it returned; undefined: nothing that can be compared. */
  readonly answer: AuditedResponse | undefined;
}

/** What an audit found. Without outcomes, nothing was compared. */
export interface AuditFinding {
  readonly reason: AuditReason;
  /** Of the repeated call; undefined: as in the call. */
  readonly params?: readonly unknown[];
  /** To the first member in which results differ; undefined: they are not compared with one another. */
  readonly path?: readonly string[];
  readonly outcomes: readonly UpstreamOutcome[];
}
