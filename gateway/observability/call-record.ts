import { clock } from '../clock/clock.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { AuditOutcome } from '../metrics/series.ts';

/** `off`: there is no cache. `not-cacheable`: never cached. `coalesced`: joined an identical call in progress. */
export type CacheOutcome = 'hit' | 'miss' | 'coalesced' | 'not-cacheable' | 'off';

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

/** How a call, or a part of its range, ended. */
export interface CallEnd {
  /**
   * `result`, the reason of a rejection, and so on: the label of the metrics. Of a part also `cancelled`, or `too-large:`
   * with the limit that splits it.
   */
  readonly outcome: string;
  /** Code of the JSON-RPC error; undefined: no error. */
  readonly code?: number | undefined;
  /** Request units of a call. */
  readonly requestUnits?: number;
  /** Reason of Gatehouse's rejection; undefined: there was none. */
  readonly rejection?: RpcError | undefined;
  /** Name of the limit of the key that rejected the call with its body. */
  readonly rejectedBy?: string | undefined;
  /** Method and parameters of a call. */
  readonly method?: MethodSpec;
  readonly params?: readonly unknown[];
  /** Length of the list of a part. */
  readonly results?: number | undefined;
}

/** One request to an upstream. */
export interface RecordedAttempt {
  readonly upstream: string;
  readonly isHedge: boolean;
  /** Time when the attempt began, by clock.now(). */
  readonly startedAt: number;
  /** Time of the end; undefined: the attempt is in progress. */
  endedAt: number | undefined;
  /** `response`, a failure class, or `cancelled`. */
  outcome: string | undefined;
}

/** Prints the record of one call, or of a part of its range, while it grows. */
export interface RecordWatcher {
  cached(outcome: CacheOutcome): void;
  skipped(upstream: string, reason: SkipReason): void;
  attempted(attempt: RecordedAttempt): void;
  attemptEnded(attempt: RecordedAttempt): void;
  budgetExceeded(what: 'retry' | 'hedge'): void;
  /** The watcher of a part. */
  part(from: number, to: number): RecordWatcher;
  ended(end: CallEnd): void;
}

/** Prints the records of the calls of one request. */
export interface RecordPrinter {
  /** Gets the skip reasons of all upstreams before the first attempt. Otherwise only of those before the selected one. */
  readonly needsAllSkipReasons?: boolean;
  /** A call begins. */
  begun?(record: CallRecord): void;
  watch?(record: CallRecord): RecordWatcher;
  /** A call has ended: its record has `end`. */
  ended?(record: CallRecord): void;
  /** A limit of the key rejects a call, which would cost `requestUnits`. */
  limited?(method: string, rejection: RpcError, requestUnits: number): void;
  /** A request is rejected before it is a call. */
  rejected?(rejection: RpcError): void;
}

const noPrinters: readonly RecordPrinter[] = [];
const noWatchers: readonly RecordWatcher[] = [];

/** Most requests have no printer. */
export function printersOf(...all: readonly (RecordPrinter | undefined)[]): readonly RecordPrinter[] {
  let printers = noPrinters;
  for (const printer of all) if (printer !== undefined) printers = [...printers, printer];
  return printers;
}

/** Record of what happened to one call, or to a part of its range. The call fills it, and printers read it at its end. */
export class CallRecord {
  readonly method: string;
  readonly network: string;
  /** JSON text of the id; undefined: a notification. */
  readonly id: string | undefined;
  readonly range: { readonly from: number; readonly to: number } | undefined;
  readonly startedAt = clock.now();
  /** Outcome of the cache; undefined: Gatehouse handles the method without upstreams. */
  cache: CacheOutcome | undefined = undefined;
  /** Skip reasons by upstream. */
  readonly skipReasons: Record<string, SkipReason> = {};
  readonly attempts: RecordedAttempt[] = [];
  /** Retries and hedges that were not made, because the retry budget of the network was used up. */
  readonly overBudget: ('retry' | 'hedge')[] = [];
  readonly parts: CallRecord[] = [];
  /** Proof of the result. */
  proof: Proof | undefined = undefined;
  /** Audits in progress, to which that of the call is added; undefined: the call is audited as others are. */
  audits: Promise<unknown>[] | undefined = undefined;
  audit: AuditReport | undefined = undefined;
  /** End of the call; undefined: it is in progress. */
  end: CallEnd | undefined = undefined;
  #printers = noPrinters;
  #watchers = noWatchers;

  constructor(method: string, network: string, id?: string, range?: { readonly from: number; readonly to: number }) {
    this.method = method;
    this.network = network;
    this.id = id;
    this.range = range;
  }

  /** The record of a call that begins, for these printers. */
  static begin(
    method: string,
    network: string,
    id: string | undefined,
    printers: readonly RecordPrinter[],
  ): CallRecord {
    const record = new CallRecord(method, network, id);
    record.#printers = printers;
    for (const printer of printers) {
      printer.begun?.(record);
      if (printer.watch !== undefined) record.#watchers = [...record.#watchers, printer.watch(record)];
    }
    return record;
  }

  get needsAllSkipReasons(): boolean {
    return this.#printers.some(({ needsAllSkipReasons }) => needsAllSkipReasons === true);
  }

  cached(outcome: CacheOutcome): void {
    this.cache = outcome;
    for (const watcher of this.#watchers) watcher.cached(outcome);
  }

  skipped(upstream: string, reason: SkipReason): void {
    this.skipReasons[upstream] = reason;
    for (const watcher of this.#watchers) watcher.skipped(upstream, reason);
  }

  /** Begins an attempt, which `attemptEnded` ends. */
  attempted(upstream: string, isHedge: boolean): RecordedAttempt {
    const attempt = { upstream, isHedge, startedAt: clock.now(), endedAt: undefined, outcome: undefined };
    this.attempts.push(attempt);
    for (const watcher of this.#watchers) watcher.attempted(attempt);
    return attempt;
  }

  attemptEnded(attempt: RecordedAttempt, outcome: string): void {
    attempt.endedAt = clock.now();
    attempt.outcome = outcome;
    for (const watcher of this.#watchers) watcher.attemptEnded(attempt);
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.overBudget.push(what);
    for (const watcher of this.#watchers) watcher.budgetExceeded(what);
  }

  /** An audit of the call has begun. */
  audited(ended: Promise<AuditReport | undefined>): void {
    this.audits?.push(ended.then((report) => (this.audit = report)));
  }

  /** Begins the record of a part of the range. */
  part(from: number, to: number): CallRecord {
    const part = new CallRecord(this.method, this.network, this.id, { from, to });
    part.#printers = this.#printers;
    part.#watchers = this.#watchers.map((watcher) => watcher.part(from, to));
    this.parts.push(part);
    return part;
  }

  ended(end: CallEnd): void {
    this.end = end;
    for (const watcher of this.#watchers) watcher.ended(end);
    if (this.range === undefined) for (const printer of this.#printers) printer.ended?.(this);
  }
}
