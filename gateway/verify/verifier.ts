import { LineLimit } from '../config/line-limit.ts';
import { causeOf, type Log } from '../config/log.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { NetworkAuditMetrics } from '../metrics/audit-metrics.ts';
import type { FinalTag } from '../chain/view.ts';
import type { Differences } from '../observability/differences.ts';
import type { PermittedUpstreams } from '../routing-policy/permitted-upstreams.ts';
import type { MethodSpec, ProvenPart } from '../spec/method-spec.ts';
import { methods, nodeMethods } from '../spec/methods.generated.ts';
import { resultLimits } from '../spec/result-bounds.ts';
import { Cancelled } from '../upstreams/transport/cancellation.ts';
import type { LargeResponse, ResultResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { agreement, type SendToOther, type Claim } from './agreement.ts';
import { checkBlock, checkHeadNumber, checkTransactionCount, checkUncle } from './check-block.ts';
import { checkLogs } from './check-logs.ts';
import { checkReceipt, checkReceipts } from './check-receipts.ts';
import { checkAccountProof, checkState } from './check-state.ts';
import { checkTransaction } from './check-transactions.ts';
import { Evidence, type EvidenceOptions, type Work } from './evidence/evidence.ts';
import { sizeOf } from './evidence/size-of.ts';
import { AuditRequests } from './observe/audit-requests.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
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
  /** Called with the first check: the series of a network begin then. */
  readonly openMetrics: () => NetworkAuditMetrics;
  /** Of the network. */
  readonly log: Log;
}

/** What a check found, and the parsed result. */
interface Checked {
  readonly finding: Finding;
  readonly result: unknown;
}

const specs = new Map(methods.map((spec) => [spec.name, spec]));
const blockByNumber = specs.get(nodeMethods.blockByNumber) as MethodSpec;
const logs = specs.get(nodeMethods.logs) as MethodSpec;

/** Checks results of one network before they are returned: what a hash, a root or a proof of state shows about them. */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #evidence: Evidence;
  readonly #requests: AuditRequests;
  readonly #lines = new LineLimit();
  #openedMetrics: NetworkAuditMetrics | undefined;

  constructor(options: VerifierOptions) {
    const { chain, request, upstreams, permitted } = options;
    this.#options = options;
    const requests = new AuditRequests(upstreams, permitted);
    this.#requests = requests;
    this.#evidence = new Evidence({
      ...{ chain, request, isAlone: upstreams.length === 1 },
      others: (upstream) => requests.others(blockByNumber, upstream),
      blockHash: (upstream, number, deadline) => requests.blockHash(upstream, number, deadline),
      logsOf: async (upstream, filter, deadline) => {
        const response = await requests.send(upstream, logs, [filter], deadline);
        return response?.kind === 'result' && Array.isArray(response.result) ? response.result : undefined;
      },
    });
  }

  /**
   * Whether enough other upstreams confirm a response; false: enough have another one.
   * @throws RpcError if there are not enough (rejects with it)
   */
  async agree(claim: Claim, count: number): Promise<boolean> {
    const { sendToOther, differences } = this.#options;
    const { method, params } = claim;
    const { agreeing, others } = await agreement(claim, count, sendToOther, (path, values) => {
      differences.add({ method, params, reason: `agree: ${count} upstreams must return the same`, path, values });
    });
    for (const { name } of agreeing) this.#metrics.audited(name, 'agrees');
    for (const { name } of others) this.#metrics.audited(name, 'differs');
    const upstreams = others.map(({ name }) => name);
    if (others.length > 0) this.#warn({ method: method.name, upstreams }, 'verify: other upstreams agree');
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
    await Promise.all(this.#requests.others(blockByNumber).map(ask));
    const number = [...newest.values()].sort((one, other) => (one > other ? -1 : 1))[needed - 1];
    if (number === undefined) return undefined;
    // Callers may have been served a newer one, while a group responded that does not now.
    const served = view.newestOf(tag);
    return quantityOf(served > number ? served : number);
  }

  /** Never throws, except for a limit of the caller and its departure. @throws RpcError, Cancelled (rejects with it) */
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
      this.#warn({ upstreams: [upstream.name], method: method.name }, 'a result cannot be checked', error);
    }
    if (finding.kind === 'proven') this.#metrics.audited(upstream.name, 'agrees');
    else if (finding.kind === 'disproved') {
      this.#metrics.audited(upstream.name, 'differs');
      this.#warn({ method: method.name, upstreams: [upstream.name] }, `verify: ${finding.reason}`);
      const values = [{ upstream: upstream.name, value: result }];
      this.#options.differences.add({ method, params, reason: `disproved: ${finding.reason}`, path: [], values });
    } else this.#metrics.audited(upstream.name, 'cannot-tell');
    return { finding, result };
  }

  /** Equal lines at most once a minute. */
  #warn(
    facts: { readonly method: string; readonly upstreams: readonly string[] },
    text: string,
    error?: unknown,
  ): void {
    const count = this.#lines.take(JSON.stringify([facts, text]));
    if (count === undefined) return;
    const cause = error === undefined ? {} : causeOf(error);
    this.#options.log.warn({ ...facts, ...cause, ...(count > 1 && { count }) }, text);
  }

  get #metrics(): NetworkAuditMetrics {
    return (this.#openedMetrics ??= this.#options.openMetrics());
  }
}

function bytesOf(response: ResultResponse | LargeResponse): number {
  if (response.kind === 'large') return response.parts.reduce((sum, { length }) => sum + length, 0);
  const { text, envelope, result } = response;
  return (text ?? envelope)?.length ?? sizeOf(result);
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
