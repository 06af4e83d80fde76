import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import { outcomeClassOf } from '../metrics/outcome-class.ts';
import { methods } from '../spec/methods.generated.ts';
import type { CallRecord, RecordPrinter } from './call-record.ts';
import { explained, type ExplainedCall } from './explanation.ts';
import type { ShownParams } from './shown-params.ts';

/** Rows of rejected and failed calls, and of a sample of the others. A row takes about 1 kB. */
const MAX_FAILED = 2_000;
const MAX_SAMPLED = 1_000;
/** Equal failures of one minute are one row with a count: one caller cannot push out those of others. */
const MERGE_MS = 60_000;
/** Interval in which one of the calls that do not fail is recorded. */
const SAMPLE_MS = 100;
/** A permission may have thousands of entries. */
const MAX_RULE_LENGTH = 200;
/** Recorded parts of a range. */
const MAX_PARTS = 8;

const known: ReadonlySet<string> = new Set(methods.map(({ name }) => name));

/** A call, a request that was rejected before its calls, or several equal failures of one minute. */
export interface RecentCall {
  /** Time of the latest call, of which the other facts are, too. */
  readonly at: string;
  readonly count: number;
  /** The id in `X-Request-Id`. */
  readonly requestId: string;
  readonly network: string | undefined;
  /** The id of the key; undefined: it was not authenticated. */
  readonly key: string | undefined;
  /** The name of the key at the time of the call. */
  readonly keyName: string | undefined;
  /** Method; undefined: the request was rejected before its calls were read. */
  readonly method: string | undefined;
  readonly outcome: string;
  readonly code: number | undefined;
  /** The permission, limit or bound that rejected it, and of a limit the units that it has left. */
  readonly rule: string | undefined;
  readonly unitsLeft: number | undefined;
  /** The value of the rule, and of `origins` also the header that the request had. */
  readonly ruleValue: string | undefined;
  readonly received: string | undefined;
  /** The reason why a token is invalid. */
  readonly problem: string | undefined;
  readonly ms: number;
  readonly params: string | undefined;
  /** Explanation; undefined: it was no call yet. */
  readonly explanation: ExplainedCall | undefined;
}

/** The request that calls are in. */
export interface RecordedRequest {
  readonly requestId: string;
  readonly network?: string | undefined;
  /** Key; undefined: the request was not authenticated. */
  readonly key?: { readonly id: string; readonly name: string } | undefined;
}

/** Filter whose given members must be equal; `upstream` is one that got the call or was skipped, `from` and `to` bound the time. */
export interface RecentCallFilter {
  readonly key?: string;
  readonly network?: string;
  readonly method?: string;
  readonly outcome?: string;
  readonly upstream?: string;
  readonly request?: string;
  /** ISO times of one form, the first included. */
  readonly from?: string;
  readonly to?: string;
}

/**
 * The latest calls, for operators: all that were rejected or failed, and a sample of the others. It has neither keys nor
 * addresses, and parameters only of methods with a schema that change nothing.
 */
export class RecentCalls {
  readonly #params: ShownParams;
  /** Failures by what equal ones have in common. */
  readonly #failed = new LRUCache<string, FailedRow>(maxEntries(MAX_FAILED));
  /** Sampled calls, oldest first. */
  readonly #sampled: RecentCall[] = [];
  #nextSampleAt = -Infinity;

  constructor(params: ShownParams) {
    this.#params = params;
  }

  /** The printer for the calls of a request. */
  of(request: RecordedRequest): RecordPrinter {
    return {
      ended: (record) => {
        this.#add(request, record);
      },
      limited: (method, rejection) => {
        this.addRejection(request, rejection, method);
      },
      rejected: (rejection) => {
        this.addRejection(request, rejection);
      },
    };
  }

  #add(request: RecordedRequest, record: CallRecord): void {
    const { method, startedAt, end } = record;
    if (end === undefined) return;
    const { outcome, rejection, code, method: spec, params } = end;
    const now = clock.now();
    const build = (): RecentCall => ({
      ...factsOf(request, rejection, outcome, now - startedAt),
      ...{ method, code: code ?? rejection?.code },
      params: spec === undefined || params === undefined ? undefined : this.#params.of(spec, params),
      explanation: explained(record, MAX_PARTS),
    });
    if (outcomeClassOf(outcome) !== 'served') {
      this.#addFailed(request, method, outcome, rejection, now, build);
      return;
    }
    if (now < this.#nextSampleAt) return;
    this.#nextSampleAt = now + SAMPLE_MS;
    this.#sampled.push(build());
    if (this.#sampled.length > MAX_SAMPLED) this.#sampled.shift();
  }

  /** A request, upgrade or message is rejected before its calls; with `method`, a call of it by a limit. */
  addRejection(request: RecordedRequest, rejection: RpcError, method?: string): void {
    const { reason, code } = rejection;
    const none = { method, params: undefined, explanation: undefined };
    this.#addFailed(request, method, reason, rejection, clock.now(), () => {
      return { ...factsOf(request, rejection, reason, 0), code, ...none };
    });
  }

  /** The latest ones first. */
  find(filter: RecentCallFilter, limit: number): RecentCall[] {
    const failed = [...this.#failed.values()].reverse().map(({ call, count }) => ({ ...call, count }));
    const all = [...failed, ...this.#sampled].filter((call) => matches(call, filter));
    return latestCalls(all, limit);
  }

  /** @param build is not called if the row has the facts of a failure of the last moment: a flood of them costs little */
  #addFailed(
    { network, key }: RecordedRequest,
    method: string | undefined,
    outcome: string,
    rejection: RpcError | undefined,
    now: number,
    build: () => RecentCall,
  ): void {
    const minute = Math.floor(clock.unixMs() / MERGE_MS);
    // A caller can invent names for a wildcard.
    const named = rejection === undefined || method === undefined || known.has(method) ? method : 'other';
    const name = [minute, network, key?.id, named, outcome, rejection?.rule?.name].join('\n');
    const before = this.#failed.peek(name);
    const count = (before?.count ?? 0) + 1;
    if (before !== undefined && now - before.builtAt < SAMPLE_MS) {
      before.count = count;
      return;
    }
    this.#failed.set(name, { call: build(), builtAt: now, count });
  }
}

/** Equal failures, with the facts of a late one. */
interface FailedRow {
  readonly call: RecentCall;
  /** Time when the row was built, by clock.now(). */
  readonly builtAt: number;
  count: number;
}

function factsOf(
  { requestId, network, key }: RecordedRequest,
  rejection: RpcError | undefined,
  outcome: string,
  ms: number,
): Omit<RecentCall, 'method' | 'code' | 'params' | 'explanation'> {
  const { name: rule, value, received, available: unitsLeft } = rejection?.rule ?? { name: undefined };
  const ruleValue = value?.slice(0, MAX_RULE_LENGTH);
  const at = new Date(clock.unixMs()).toISOString();
  const facts = { at, count: 1, requestId, network, key: key?.id, keyName: key?.name, outcome };
  const problem = rejection?.reason === 'token-invalid' ? rejection.message : undefined;
  return { ...facts, rule, unitsLeft, ruleValue, received, problem, ms: Math.round(ms) };
}

/** The latest ones first. */
export function latestCalls(calls: RecentCall[], limit: number): RecentCall[] {
  return calls.sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, limit);
}

function matches(call: RecentCall, filter: RecentCallFilter): boolean {
  const { key, network, method, outcome, upstream, request, from, to } = filter;
  if ((from !== undefined && call.at < from) || (to !== undefined && call.at >= to)) return false;
  if (key !== undefined && call.key !== key) return false;
  if (network !== undefined && call.network !== network) return false;
  if (method !== undefined && call.method !== method) return false;
  if (outcome !== undefined && call.outcome !== outcome) return false;
  if (request !== undefined && call.requestId !== request) return false;
  if (upstream === undefined) return true;
  const { attempts = [], skipped = {} } = call.explanation ?? {};
  return attempts.some((attempt) => attempt.upstream === upstream) || Object.hasOwn(skipped, upstream);
}
