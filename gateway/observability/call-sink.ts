import type { RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { AuditReport } from './audit-report.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';

/** `off`: there is no cache. `not-cacheable`: never cached. `coalesced`: joined an identical call in progress. */
export type CacheOutcome = 'hit' | 'miss' | 'coalesced' | 'not-cacheable' | 'off';

/** How a call, or a part of its range, ended. */
export interface CallEnd {
  /**
   * `result`, the reason of a rejection, and so on: the label of the metrics. Of a part also `cancelled`, or `too-large:`
   * with the limit that splits it.
   */
  readonly outcome: string;
  /** Of the JSON-RPC error; undefined: no error. */
  readonly code?: number | undefined;
  /** Of a call. */
  readonly requestUnits?: number;
  /** Undefined: Gatehouse did not reject the call. */
  readonly rejection?: RpcError | undefined;
  /** Of a call. */
  readonly method?: MethodSpec;
  readonly params?: readonly unknown[];
  /** Length of the list of a part. */
  readonly results?: number | undefined;
}

/** Receives the events of one call, or of a part of its range, from the cache lookup to the response. */
export interface CallSink {
  /** Gets the skip reasons of all upstreams before the first attempt. Otherwise only of those before the selected one. */
  readonly needsAllSkipReasons?: boolean;
  skipped?(upstream: string, reason: SkipReason): void;
  /** An attempt begins. @returns called at its end with `response`, a failure class, or `cancelled` */
  attempt?(upstream: string, isHedge: boolean): (outcome: string) => void;
  /** A retry or hedge was not made, because the retry budget of the network is used up. */
  budgetExceeded?(what: 'retry' | 'hedge'): void;
  /** Outcome of the cache lookup. Not called for methods that Gatehouse handles without upstreams. */
  cached?(outcome: CacheOutcome): void;
  /** What proves the result. */
  verified?(proof: Proof): void;
  /** An audit of the call has begun. Undefined: only a share of the calls is audited. @param ended its report */
  readonly audited?: ((ended: Promise<AuditReport | undefined>) => void) | undefined;
  /** A part of the range of blocks begins. */
  part?(from: number, to: number): CallSink;
  ended?(end: CallEnd): void;
}

/** Creates the sink of each call of one request. */
export interface CallSinks {
  /** @param id of the call as JSON text; undefined: a notification */
  begin(method: string, network: string, id: string | undefined): CallSink;
  /** A limit of the key rejects a call, which would cost `requestUnits`. */
  limited?(method: string, rejection: RpcError, requestUnits: number): void;
  /** A request is rejected before it is a call. */
  rejected?(rejection: RpcError): void;
}

const noSinks: readonly CallSinks[] = [];

/** Most requests have none. */
export function sinksOf(...all: readonly (CallSinks | undefined)[]): readonly CallSinks[] {
  let found: CallSinks[] | undefined;
  for (const sinks of all) if (sinks !== undefined) (found ??= []).push(sinks);
  return found ?? noSinks;
}

/** The sinks of a part of a call's range. */
export function partOf(sinks: readonly CallSink[], from: number, to: number): readonly CallSink[] {
  return sinks.flatMap((sink) => sink.part?.(from, to) ?? []);
}

export function reportCached(sinks: readonly CallSink[], outcome: CacheOutcome): void {
  for (const sink of sinks) sink.cached?.(outcome);
}

export function reportEnd(sinks: readonly CallSink[], end: CallEnd): void {
  for (const sink of sinks) sink.ended?.(end);
}
