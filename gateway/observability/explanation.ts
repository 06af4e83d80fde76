import type { RpcError } from '../jsonrpc/errors.ts';
import { CallRecord, type RecordPrinter } from './call-record.ts';

/** Limit of the header value: load balancers allow 4 to 8 kB for all headers of a response. */
const MAX_HEADER_BYTES = 3_000;
/** Parts of each call in the header. A part takes about 100 bytes. */
const MAX_HEADER_PARTS = 32;

/** The explanation of a call. @param maxParts the first parts of its range to include; `moreParts` counts the others */
export function explained(record: CallRecord, maxParts: number) {
  const { method, end, proof, audit, parts } = record;
  const more = parts.length - maxParts;
  return {
    method,
    ...(end && { outcome: end.outcome, requestUnits: end.requestUnits, rejectedBy: end.rejectedBy }),
    ...wayOf(record),
    ...(proof !== undefined && { verified: proof }),
    ...(audit !== undefined && { audit }),
    ...(parts.length > 0 && { parts: parts.slice(0, maxParts).map(explainedPart) }),
    ...(more > 0 && { moreParts: more }),
  };
}

export type ExplainedCall = ReturnType<typeof explained>;

function explainedPart(part: CallRecord) {
  const { range, end } = part;
  return { ...range, ...(end && { outcome: end.outcome, results: end.results }), ...wayOf(part) };
}

/** The upstreams that a call, or a part of its range, was sent to, and those that were skipped. */
function wayOf({ cache, skipReasons, attempts, overBudget, startedAt: begin }: CallRecord) {
  return {
    ...(cache !== undefined && { cache }),
    ...(Object.keys(skipReasons).length > 0 && { skipped: skipReasons }),
    attempts: attempts.map(({ upstream, isHedge, startedAt, endedAt, outcome }) => ({
      upstream,
      // From the begin of the call, or of the part of its range, to that of the attempt.
      atMs: Math.round(startedAt - begin),
      ...(isHedge && { hedge: true }),
      ...(endedAt !== undefined && { ms: Math.round(endedAt - startedAt), outcome }),
    })),
    ...(overBudget.length > 0 && { overBudget }),
  };
}

/** The network whose calls are explained. */
interface ExplainedNetwork {
  readonly config: { readonly slug: string };
  /** Upstreams in the order of the network file. */
  readonly router: { readonly all: readonly { readonly name: string }[] };
}

/** Records how the calls of one request were routed: for keys with the `explain` capability, and for operators. */
export class Explanation implements RecordPrinter {
  readonly needsAllSkipReasons = true;
  readonly #network: string;
  readonly #upstreams: readonly string[];
  readonly #calls: CallRecord[] = [];
  readonly #audits: Promise<unknown>[] | undefined;

  /** @param isAudited every call is audited, if the network has audits */
  constructor({ config, router }: ExplainedNetwork, isAudited = false) {
    this.#audits = isAudited ? [] : undefined;
    this.#network = config.slug;
    this.#upstreams = router.all.map(({ name }) => name);
  }

  begun(record: CallRecord): void {
    record.audits = this.#audits;
    this.#calls.push(record);
  }

  /** Resolves when the audits of the calls have ended. */
  async whenAudited(): Promise<void> {
    await Promise.all(this.#audits ?? []);
  }

  limited(method: string, { reason, rule }: RpcError, requestUnits: number): void {
    const record = new CallRecord(method, this.#network);
    record.end = { outcome: reason, requestUnits, rejectedBy: rule?.name };
    this.#calls.push(record);
  }

  /** Explanation with all calls. */
  toJSON(): object {
    return this.#with(this.#calls.length, Infinity);
  }

  /** One line of JSON with as many parts and calls as fit into a header. All names are ASCII. */
  toString(): string {
    let count = this.#calls.length;
    let maxParts = Math.min(MAX_HEADER_PARTS, Math.max(0, ...this.#calls.map(({ parts }) => parts.length)));
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
    const calls = this.#calls.slice(0, count).map((call) => explained(call, maxParts));
    return { network: this.#network, upstreams: this.#upstreams, calls, ...(more > 0 && { more }) };
  }
}
