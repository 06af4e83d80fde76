import { clock } from '../clock/clock.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { AuditReport } from './audit-report.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { CacheOutcome, CallEnd, CallSink, CallSinks } from './call-sink.ts';

/** Limit of the header value: load balancers allow 4 to 8 kB for all headers of a response. */
const MAX_HEADER_BYTES = 3_000;
/** Of each call. A part takes about 100 bytes. */
const MAX_HEADER_PARTS = 32;

interface ExplainedAttempt {
  readonly upstream: string;
  /** From the begin of the call, or of the part of its range, to that of the attempt. */
  readonly atMs: number;
  /** Undefined while the attempt is in progress. */
  ms?: number;
  outcome?: string;
  readonly hedge?: true;
}

/** Records the skipped upstreams and the attempts of one call, or of a part of its range. */
class ExplainedAttempts implements CallSink {
  readonly needsAllSkipReasons: boolean = true;
  protected readonly startedAt = clock.now();
  protected cache: CacheOutcome | undefined;
  readonly #skipped: Record<string, SkipReason> = {};
  readonly #attempts: ExplainedAttempt[] = [];
  readonly #overBudget: string[] = [];

  skipped(upstream: string, reason: SkipReason): void {
    this.#skipped[upstream] = reason;
  }

  attempt(upstream: string, isHedge: boolean): (outcome: string) => void {
    const startedAt = clock.now();
    const atMs = Math.round(startedAt - this.startedAt);
    const attempt: ExplainedAttempt = { upstream, atMs, ...(isHedge && { hedge: true }) };
    this.#attempts.push(attempt);
    return (outcome) => {
      attempt.ms = Math.round(clock.now() - startedAt);
      attempt.outcome = outcome;
    };
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.#overBudget.push(what);
  }

  cached(outcome: CacheOutcome): void {
    this.cache = outcome;
  }

  protected explain(): object {
    return {
      ...(this.cache !== undefined && { cache: this.cache }),
      ...(Object.keys(this.#skipped).length > 0 && { skipped: this.#skipped }),
      attempts: this.#attempts,
      ...(this.#overBudget.length > 0 && { overBudget: this.#overBudget }),
    };
  }
}

class ExplainedPart extends ExplainedAttempts implements CallSink {
  readonly #range: object;
  #end: object = {};

  constructor(from: number, to: number) {
    super();
    this.#range = { from, to };
  }

  ended({ outcome, results }: CallEnd): void {
    this.#end = { outcome, ...(results !== undefined && { results }) };
  }

  toJSON(): object {
    return { ...this.#range, ...this.#end, ...this.explain() };
  }
}

/** Records one call, with the parts of its range. */
export class ExplainedCall extends ExplainedAttempts implements CallSink {
  readonly audited: ((ended: Promise<AuditReport | undefined>) => void) | undefined;
  readonly #method: string;
  readonly #parts: ExplainedPart[] = [];
  #end: object = {};
  #audit: AuditReport | undefined;
  #proof: Proof | undefined;

  /** @param audits in progress, to which that of the call is added; undefined: the call is audited as others are */
  constructor(method: string, audits?: Promise<unknown>[]) {
    super();
    this.#method = method;
    if (audits !== undefined)
      this.audited = (ended) => void audits.push(ended.then((report) => (this.#audit = report)));
  }

  get partCount(): number {
    return this.#parts.length;
  }

  part(from: number, to: number): CallSink {
    const part = new ExplainedPart(from, to);
    this.#parts.push(part);
    return part;
  }

  verified(proof: Proof): void {
    this.#proof = proof;
  }

  ended({ outcome, requestUnits }: CallEnd): void {
    this.#end = { outcome, requestUnits };
  }

  /** A limit of the key rejected the call. */
  limited({ reason, rule }: RpcError, requestUnits: number): void {
    this.#end = { outcome: reason, requestUnits, rejectedBy: rule?.name };
  }

  /** @param maxParts the first parts to include; `moreParts` counts the others */
  withParts(maxParts: number): object {
    const more = this.#parts.length - maxParts;
    return {
      ...{ method: this.#method, ...this.#end, ...this.explain() },
      ...(this.#proof !== undefined && { verified: this.#proof }),
      ...(this.#audit !== undefined && { audit: this.#audit }),
      ...(this.#parts.length > 0 && { parts: this.#parts.slice(0, maxParts) }),
      ...(more > 0 && { moreParts: more }),
    };
  }
}

/** The network whose calls are explained. */
interface ExplainedNetwork {
  readonly config: { readonly slug: string };
  /** In the order of the network file. */
  readonly router: { readonly all: readonly { readonly name: string }[] };
}

/** Records how the calls of one request were routed: for keys with the `explain` capability, and for operators. */
export class Explanation implements CallSinks {
  readonly #network: string;
  readonly #upstreams: readonly string[];
  readonly #calls: ExplainedCall[] = [];
  readonly #audits: Promise<unknown>[] | undefined;

  /** @param isAudited every call is audited, if the network has audits */
  constructor({ config, router }: ExplainedNetwork, isAudited = false) {
    this.#audits = isAudited ? [] : undefined;
    this.#network = config.slug;
    this.#upstreams = router.all.map(({ name }) => name);
  }

  begin(method: string): CallSink {
    const call = new ExplainedCall(method, this.#audits);
    this.#calls.push(call);
    return call;
  }

  /** Resolves when the audits of the calls have ended. */
  async whenAudited(): Promise<void> {
    await Promise.all(this.#audits ?? []);
  }

  limited(method: string, rejection: RpcError, requestUnits: number): void {
    const call = new ExplainedCall(method);
    call.limited(rejection, requestUnits);
    this.#calls.push(call);
  }

  /** Contains all calls. */
  toJSON(): object {
    return this.#with(this.#calls.length, Infinity);
  }

  /** One line of JSON with as many parts and calls as fit into a header. All names are ASCII. */
  toString(): string {
    let count = this.#calls.length;
    let maxParts = Math.min(MAX_HEADER_PARTS, Math.max(0, ...this.#calls.map(({ partCount }) => partCount)));
    for (;;) {
      const text = JSON.stringify({ ...this.#with(count, maxParts), upstreams: this.#upstreams.slice(0, 20) });
      if (text.length <= MAX_HEADER_BYTES || count === 0) return text;
      if (maxParts > 0) maxParts = Math.floor(maxParts / 2);
      else count = Math.min(count - 1, Math.ceil((count * MAX_HEADER_BYTES) / text.length));
    }
  }

  /** @param count the first calls to include; `more` counts the others */
  #with(count: number, maxParts: number): object {
    const more = this.#calls.length - count;
    const calls = this.#calls.slice(0, count).map((call) => call.withParts(maxParts));
    return { network: this.#network, upstreams: this.#upstreams, calls, ...(more > 0 && { more }) };
  }
}
