import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { LineLimit } from '../config/line-limit.ts';
import { causeOf, type Log } from '../config/log.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { NetworkMetrics } from '../metrics/series.ts';
import { parseHeader, type Header } from '../chain/header.ts';
import type { FinalTag } from '../chain/served-tags.ts';
import type { AuditReport, CallRecord } from '../observability/call-record.ts';
import type { Differences } from '../observability/differences.ts';
import type { PermittedUpstreams } from '../routing-policy/permitted-upstreams.ts';
import type { MethodSpec, ProvenPart } from '../spec/method-spec.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { resultLimits } from '../spec/result-bounds.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { LargeResponse, ResultResponse, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { agreement, type SendToOther, type Claim } from './agreement.ts';
import { auditCall, reportOf } from './audit-call.ts';
import { AuditRequests, toComparable } from './evidence/audit-requests.ts';
import { checkBlock, checkHeadNumber, checkTransactionCount, checkUncle } from './check-block.ts';
import { checkLogs } from './check-logs.ts';
import { checkReceipt, checkReceipts } from './check-receipts.ts';
import { checkAccountProof, checkState } from './check-state.ts';
import { checkTransaction } from './check-transactions.ts';
import { isComparable, valueOf } from './evidence/compare-responses.ts';
import { Evidence, sizeOf, type EvidenceOptions, type Work } from './evidence/evidence.ts';
import { HeaderChecks } from './header-checks.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
import { hashedMembers } from './proofs/check-header.ts';
import { quantityOf } from './proofs/hex.ts';
import { numberNamed, otherBranch, unknown, type Subject, type Finding } from './subject.ts';

const checks: Readonly<Record<ProvenPart, (subject: Subject) => Promise<Finding>>> = {
  'head-number': checkHeadNumber,
  block: checkBlock,
  header: checkBlock,
  uncle: checkUncle,
  'uncle-count': checkUncle,
  transaction: checkTransaction,
  'transaction-count': checkTransactionCount,
  receipt: checkReceipt,
  receipts: checkReceipts,
  logs: checkLogs,
  balance: checkState,
  nonce: checkState,
  code: checkState,
  slot: checkState,
  'account-proof': checkAccountProof,
};

export interface VerifierOptions extends Pick<EvidenceOptions, 'chain' | 'request'> {
  readonly upstreams: readonly Upstream[];
  readonly permitted: PermittedUpstreams<Upstream>;
  readonly sendToOther: SendToOther;
  readonly differences: Differences;
  readonly metrics: Pick<NetworkMetrics, 'auditing'>;
  /** Whether reads are audited: their series begin at once, others with the first check. */
  readonly hasAudits: boolean;
  /** Log of the network. */
  readonly log: Log;
}

/** Bounds the memory and the requests of audits. Further reads are not audited. */
const MAX_AUDITS = 4;
const AUDIT_TIMEOUT_MS = 10_000;

/** A read that an upstream has responded to. */
export interface AuditedRead {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  readonly record?: Pick<CallRecord, 'audits' | 'audited'> | undefined;
}

/** Finding of a check, and the parsed result. */
interface Checked {
  readonly finding: Finding;
  readonly result: unknown;
}

/**
 * Verifies results of one network: checks what a hash, a root or a proof of state shows about them, and compares them with those
 * of other upstreams, before they are returned or in the background.
 */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #evidence: Evidence;
  readonly #requests: AuditRequests;
  readonly #headers: HeaderChecks;
  readonly #lines = new LineLimit();
  #hasSeries = false;
  #auditsInProgress = 0;
  #isClosed = false;

  constructor(options: VerifierOptions) {
    const { chain, request, upstreams, permitted, hasAudits } = options;
    this.#options = options;
    const requests = new AuditRequests(upstreams, permitted);
    this.#requests = requests;
    this.#headers = new HeaderChecks(chain);
    if (hasAudits) this.#beginSeries();
    this.#evidence = new Evidence({ chain, request, requests, isAlone: upstreams.length === 1 });
  }

  /** Cancels the requests in progress. Their outcomes are not recorded: the network may be removed. */
  close(): void {
    this.#isClosed = true;
    this.#requests.close();
  }

  /**
   * Begins an audit of this share of the reads, and of each whose explanation includes it. It changes no response, and delays
   * none.
   */
  observe(first: Upstream, read: AuditedRead, response: UpstreamResponse, share: number): void {
    const { record } = read;
    if (record?.audits === undefined && random.number() >= share) return;
    if (this.#auditsInProgress >= MAX_AUDITS) return;
    const ended = this.#audit(first, read, response);
    record?.audited(ended);
  }

  /** Audits a result, and never rejects. */
  async #audit(
    first: Upstream,
    { method, params }: AuditedRead,
    given: UpstreamResponse,
  ): Promise<AuditReport | undefined> {
    const { differences, chain, metrics, log } = this.#options;
    this.#beginSeries();
    this.#auditsInProgress++;
    metrics.auditing(1);
    try {
      // The caller's response goes first.
      await clock.nextTurn();
      // It is normalised already, unless it is large.
      const response = given.kind === 'large' ? toComparable(method, params, given) : given;
      if (response === undefined || !isComparable(response)) return undefined;
      const deadline = clock.now() + AUDIT_TIMEOUT_MS;
      const parts = { requests: this.#requests, headers: this.#headers, chain };
      const finding = await auditCall({ method, params, first, response, deadline }, parts);
      if (this.#isClosed) return undefined;
      const names = finding.answers.map(([{ name }]) => name);
      for (const [upstream, outcome] of finding.answers) {
        const from = finding.reason === 'undecided' ? names.find((one) => one !== upstream.name) : undefined;
        upstream.recordAudit(outcome, from);
      }
      const report = reportOf(method, finding);
      if (report.outcome !== 'differs') return report;
      const { reason } = report;
      const upstreams = report.answers.filter(({ outcome }) => outcome === 'differs').map(({ upstream }) => upstream);
      const answers = Object.fromEntries(report.answers.map(({ upstream, sha256 }) => [upstream, sha256]));
      this.#warn({ method: method.name, upstreams }, `audit: ${reason}`, { answers });
      const values = finding.answers.map(([{ name }, , one]) => ({ upstream: name, value: valueOf(one) }));
      differences.add({ method, params: finding.params ?? params, reason, path: finding.path ?? [], values });
      return report;
    } catch (error) {
      log.error(causeOf(error), 'an audit failed');
      return undefined;
    } finally {
      this.#auditsInProgress--;
      metrics.auditing(-1);
    }
  }

  /**
   * Whether enough other upstreams confirm a response; false: enough have another one.
   * @throws RpcError if there are not enough (rejects with it)
   */
  async agree(claim: Claim, count: number): Promise<boolean> {
    const { sendToOther, differences } = this.#options;
    const { agreeing, others } = await agreement(claim, count, sendToOther, differences);
    this.#beginSeries();
    for (const upstream of agreeing) upstream.recordAudit('agrees');
    for (const upstream of others) upstream.recordAudit('differs');
    const upstreams = others.map(({ name }) => name);
    if (others.length > 0) this.#warn({ method: claim.method.name, upstreams }, 'verify: other upstreams agree');
    return agreeing.includes(claim.work.upstream);
  }

  /**
   * The number of the block of a tag: the highest one that enough groups report, on the followed branch. Undefined: too few do.
   * @throws RpcError for a limit of the caller (rejects with it)
   */
  async numberOfTag(tag: FinalTag, work: Work): Promise<string | undefined> {
    const { view } = this.#evidence;
    const { needed } = view.witnesses;
    if (needed <= 1) {
      const number = (await this.#evidence.blockAt(tag, work))?.['number'];
      return typeof number === 'string' ? number : undefined;
    }
    const newest = new Map<string, bigint>();
    const ask = async (upstream: Upstream): Promise<void> => {
      await work.charge(nodeMethods.blockByNumber, [tag, false]);
      const header = await this.#requests.headerAt(upstream, tag, work.deadline);
      if (header === undefined || header.hash !== (view.at(header.number)?.hash ?? header.hash)) return;
      if (header.number > (newest.get(upstream.group) ?? -1n)) newest.set(upstream.group, header.number);
    };
    await Promise.all(this.#requests.others(undefined).map(ask));
    const number = [...newest.values()].sort((one, other) => (one > other ? -1 : 1))[needed - 1];
    if (number === undefined) return undefined;
    // Callers may have been served a newer one, while a group responded that does not now.
    const served = view.newestOf(tag);
    return quantityOf(served > number ? served : number);
  }

  /**
   * A header with its hash: as given, or as another upstream has it. Never rejects.
   * @param isRequired it must be proven, with each of its members; otherwise it is as given if nothing disproves it
   */
  async proveHeader(header: Header, isRequired: boolean): Promise<Header | undefined> {
    const outcome = this.#headers.check({ kind: 'result', result: header.block });
    if (outcome === 'verified') return isRequired ? { ...header, block: hashedMembers(header.block) } : header;
    const work: Work = {
      ...{ deadline: clock.now() + AUDIT_TIMEOUT_MS, upstream: this.#options.upstreams[0] as Upstream },
      ...{ owner: 'heads', isEvidence: true, caller: new Cancellation() },
      take: () => undefined,
      charge: () => Promise.resolve(),
    };
    const block = parseHeader(await this.#evidence.header(header.hash, work).catch(() => undefined))?.block;
    if (block !== undefined) return { ...header, block: isRequired ? hashedMembers(block) : block, isFromBlock: true };
    return isRequired || outcome === 'wrong-hash' ? undefined : header;
  }

  /**
   * Checks a result. It never throws, except for a limit of the caller and its departure.
   * @throws RpcError, Cancelled (rejects with it)
   */
  async check(
    method: MethodSpec,
    params: readonly unknown[],
    response: ResultResponse | LargeResponse,
    work: Work,
  ): Promise<Checked> {
    const { upstream } = work;
    if (method.provenAs === undefined) return { finding: unknown, result: undefined };
    let finding = unknown;
    let result: unknown;
    try {
      work.take(bytesOf(response));
      result = await parsed(response, work.owner);
      const subject = { method, params, result, work, evidence: this.#evidence };
      this.#evidence.noteHead();
      finding = await checks[method.provenAs](subject);
      // A result does not name the block of a number, of which another branch has another one.
      const number = finding.kind === 'disproved' ? numberNamed(subject) : undefined;
      if (number !== undefined && !(await this.#evidence.isOnBranch(number, work))) finding = otherBranch;
    } catch (error) {
      if (error instanceof RpcError || error instanceof Cancelled) throw error;
      // A value that no node of the spec returns.
      this.#warn({ upstreams: [upstream.name], method: method.name }, 'a result cannot be checked', causeOf(error));
    }
    const { kind } = finding;
    const outcome = kind === 'proven' ? 'agrees' : kind === 'disproved' ? 'differs' : 'cannot-tell';
    this.#beginSeries();
    upstream.recordAudit(outcome);
    if (finding.kind === 'disproved') {
      const { reason } = finding;
      this.#warn({ method: method.name, upstreams: [upstream.name] }, `verify: ${reason}`);
      const values = [{ upstream: upstream.name, value: result }];
      this.#options.differences.add({ method, params, reason: `disproved: ${reason}`, path: [], values });
    }
    return { finding, result };
  }

  /** Warns with equal lines at most once a minute. @param more of the latest one */
  #warn(facts: { readonly method: string; readonly upstreams: readonly string[] }, text: string, more?: object): void {
    const count = this.#lines.take(JSON.stringify([facts, text]));
    if (count !== undefined) this.#options.log.warn({ ...facts, ...more, ...(count > 1 && { count }) }, text);
  }

  #beginSeries(): void {
    if (this.#hasSeries) return;
    this.#hasSeries = true;
    const { metrics, upstreams } = this.#options;
    metrics.auditing(0);
    for (const upstream of upstreams) upstream.metrics.auditsBegun();
  }
}

function bytesOf(response: ResultResponse | LargeResponse): number {
  if (response.kind === 'large') return response.parts.reduce((sum, { length }) => sum + length, 0);
  return response.text?.length ?? sizeOf(response.result);
}

async function parsed(response: ResultResponse | LargeResponse, owner: string): Promise<unknown> {
  if (response.kind === 'result') return response.result;
  const { parts } = response;
  const steps = new OwnedSteps(owner);
  const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
  const result = await parseInSteps(bytes, steps, resultLimits(bytes.length));
  steps.charge();
  return result;
}
