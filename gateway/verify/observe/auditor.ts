import { random } from '../../clock/random.ts';
import { clock } from '../../clock/clock.ts';
import { LineLimit } from '../../config/line-limit.ts';
import { causeOf, type Log } from '../../config/log.ts';
import type { NetworkAuditMetrics } from '../../metrics/audit-metrics.ts';
import type { Differences } from '../../observability/differences.ts';
import type { AuditReport } from '../../observability/audit-report.ts';
import type { CallRecord } from '../../observability/call-record.ts';
import type { PermittedUpstreams } from '../../routing-policy/permitted-upstreams.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import { answerHash } from './answer-hash.ts';
import { auditCall, type AuditParts } from './audit-call.ts';
import { auditReasons, type AuditFinding } from './audit-finding.ts';
import { AuditRequests, toAudited } from './audit-requests.ts';
import { isComparable, valueOf } from './compare-responses.ts';
import { HeaderChecks } from './header-checks.ts';
import { isAuditable } from './pin-call.ts';

/** Bounds the memory and the requests of audits. Further reads are not audited. */
const MAX_IN_PROGRESS = 4;
const TIMEOUT_MS = 10_000;

/** A call that an upstream has responded to. `call/` has more about it. */
export interface RespondedCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  /** Parameters that were sent in place of `params`. */
  readonly pinned: { readonly params: readonly unknown[] } | undefined;
  /** Undefined for a call of Gatehouse itself. */
  readonly cancellation: Cancellation | undefined;
  readonly record?: Pick<CallRecord, 'audits' | 'audited'> | undefined;
}

export interface AuditorOptions {
  /** Of the reads, from 0 to 1. */
  readonly share: number;
  /** Whether the share is taken of a method; undefined: of all. */
  readonly observes?: ((method: string) => boolean) | undefined;
  readonly upstreams: readonly Upstream[];
  readonly permitted: PermittedUpstreams<Upstream>;
  readonly chain: AuditParts['chain'];
  readonly metrics: NetworkAuditMetrics;
  readonly differences: Differences;
  /** Of the network. */
  readonly log: Log;
}

/** Audits a share of the reads of one network in the background. It changes no response, and delays none. */
export class Auditor {
  readonly #options: AuditorOptions;
  readonly #requests: AuditRequests;
  readonly #headers: HeaderChecks;
  readonly #lines = new LineLimit();
  #inProgress = 0;
  #isClosed = false;

  constructor(options: AuditorOptions) {
    this.#options = options;
    this.#requests = new AuditRequests(options.upstreams, options.permitted);
    this.#headers = new HeaderChecks(options.chain);
  }

  /** Begins an audit of this share of the calls, and of each call whose explanation includes it. */
  sample(first: Upstream, call: RespondedCall, response: UpstreamResponse): void {
    const { method, pinned, cancellation, record } = call;
    const { share, observes } = this.#options;
    if (record?.audits === undefined && (random.number() >= share || observes?.(method.name) === false)) return;
    const isPossible = cancellation !== undefined && isAuditable(method) && this.#inProgress < MAX_IN_PROGRESS;
    if (!isPossible) return;
    const ended = this.#audit(first, method, pinned?.params ?? call.params, response);
    record?.audited(ended);
  }

  /** Cancels the audits in progress. Their outcomes are not recorded: the network may be removed. */
  close(): void {
    this.#isClosed = true;
    this.#requests.close();
  }

  /** Never rejects. */
  async #audit(
    first: Upstream,
    method: MethodSpec,
    params: readonly unknown[],
    given: UpstreamResponse,
  ): Promise<AuditReport | undefined> {
    const { metrics, differences, chain, log } = this.#options;
    this.#inProgress++;
    metrics.begun();
    try {
      // The caller's response goes first.
      await clock.nextTurn();
      // It is normalised already, unless it is large.
      const response = given.kind === 'large' ? toAudited(method, params, given) : given;
      if (response === undefined || !isComparable(response)) return undefined;
      const parts = { requests: this.#requests, headers: this.#headers, chain };
      const deadline = clock.now() + TIMEOUT_MS;
      const finding = await auditCall({ method, params, first, response, deadline }, parts);
      if (this.#isClosed) return undefined;
      const names = finding.outcomes.map(({ upstream }) => upstream.name);
      for (const { upstream, outcome } of finding.outcomes) {
        const from = finding.reason === 'undecided' ? names.find((name) => name !== upstream.name) : undefined;
        metrics.audited(upstream.name, outcome, from);
      }
      const report = reportOf(method, finding);
      if (report.outcome === 'differs') {
        this.#logDifference(method, report);
        const values = finding.outcomes.map(({ upstream, answer }) => ({
          upstream: upstream.name,
          value: valueOf(answer),
        }));
        const { path = [] } = finding;
        differences.add({ method, params: finding.params ?? params, reason: report.reason, path, values });
      }
      return report;
    } catch (error) {
      log.error(causeOf(error), 'an audit failed');
      return undefined;
    } finally {
      this.#inProgress--;
      metrics.ended();
    }
  }

  #logDifference({ name }: MethodSpec, { reason, answers }: AuditReport): void {
    const hashes = Object.fromEntries(answers.map(({ upstream, sha256 }) => [upstream, sha256]));
    const differs = answers.filter(({ outcome }) => outcome === 'differs').map(({ upstream }) => upstream);
    const count = this.#lines.take(JSON.stringify([name, differs, reason]));
    if (count === undefined) return;
    const facts = { method: name, upstreams: differs, answers: hashes, ...(count > 1 && { count }) };
    this.#options.log.warn(facts, `audit: ${reason}`);
  }
}

function reportOf(method: MethodSpec, { reason, outcomes }: AuditFinding): AuditReport {
  const compared = outcomes.flatMap(({ answer }) => answer ?? []);
  const answers = outcomes.map(({ upstream: { name }, outcome, answer }) => {
    return { upstream: name, outcome, ...(answer !== undefined && { sha256: answerHash(method, answer, compared) }) };
  });
  const isAny = (wanted: string): boolean => outcomes.some(({ outcome }) => outcome === wanted);
  const outcome = isAny('differs')
    ? 'differs'
    : isAny('cannot-tell')
      ? 'cannot-tell'
      : isAny('agrees')
        ? 'agrees'
        : 'not-audited';
  return { outcome, reason: auditReasons[reason], answers };
}
