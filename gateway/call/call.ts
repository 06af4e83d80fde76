import type { IncomingHttpHeaders } from 'node:http';
import { clock } from '../clock/clock.ts';
import { gatehouse, turnsFor, type Account } from '../admission/account.ts';
import type { RpcRequest } from '../jsonrpc/envelope.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { NetworkResponse } from '../cache/response-cache.ts';
import type { Log } from '../config/log.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { AccessLogEntry } from '../observability/access-log.ts';
import type { CallRecord, RecordPrinter } from '../observability/call-record.ts';
import type { SocketSubscriptions } from '../subscriptions/socket-subscriptions.ts';
import type { RangePart } from '../upstreams/range-part.ts';
import type { Work } from '../verify/evidence/evidence.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { NamedBlocks } from '../upstreams/available-blocks.ts';
import type { FailedCall } from '../upstreams/health/circuit-breaker.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { RawTransaction } from '../upstreams/transactions/raw-transaction.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { CoalescedCall } from './coalesce.ts';
import type { CallResponse, NetworkMethodOf, NetworkOf } from './network.ts';
import type { BodyVerification, CallVerification } from './verification.ts';
import type { Router } from './router.ts';
import { noRules, type CallRules } from './rules/rule.ts';

/**
 * List of no failures, shared by all calls: an array that grows by `push` takes 150 bytes, and most calls have no failed
 * attempt.
 */
const noFailures: readonly FailedOutcome[] = [];
const noUpstreams: readonly Upstream[] = [];
export const noIgnored: readonly IgnoredFailure[] = [];

/** A failure that does not count for the circuit, because the call may be the cause. */
export interface IgnoredFailure {
  readonly upstream: Upstream;
  readonly outcome: FailedOutcome;
  readonly failed: FailedCall;
}

/** The parameters of a call with the number or the hash of a block in place of its tag. */
interface PinnedParams {
  readonly number: bigint;
  readonly params: readonly unknown[];
  readonly text: string;
}

/** A final response that needs a second one from another upstream. */
export interface Unconfirmed {
  readonly response: UpstreamResponse;
  /** Whether it is from an upstream at the head, and contradicts nothing that callers were served. */
  readonly isEvidence: boolean;
  /** The blocks that its upstream may have lacked: none, only such whose hashes are known here, or others. */
  readonly blocksAbove: 'none' | 'known' | 'unknown';
}

/** The layers of the calls of a method, which were checked. @throws RpcError, Cancelled (or rejects with it) */
export type Serve = (call: Call, context: CallContext) => CallResponse | Promise<CallResponse>;

export type Network = NetworkOf<Serve>;
export type NetworkMethod = NetworkMethodOf<Serve>;

/** Responses to the calls that a batch has more than once, by name and parameters. Undefined: the call is not sent yet. */
export type Duplicates = Map<string, Promise<NetworkResponse> | NetworkResponse | undefined>;

/** The caller of one body and the bounds of its calls. The key is already authenticated. */
export interface CallContext {
  readonly network: Network;
  readonly access: KeyAccess;
  readonly limiter: Limiter;
  /** Id that is shown to the caller, and logged with internal errors. */
  readonly requestId: string;
  /** When all calls of the body must have a response, by clock.now(). */
  readonly deadline: number;
  /** Cancels the calls in progress when the caller disconnects. */
  readonly caller: Cancellation;
  /** Print the record of each call; empty for most bodies. */
  readonly printers: readonly RecordPrinter[];
  readonly log: Log;
  /** Calls that the body has more than once; undefined: it has none. */
  readonly duplicates?: Duplicates;
  /** Bytes that remain for large results in the response to the batch. */
  readonly batchBudget?: { bytes: number; readonly maxBytes: number };
  /** A large result of a call alone may be passed on while it arrives. */
  readonly canFlow?: boolean;
  /** Subscriptions of the caller's WebSocket; undefined over HTTP. */
  readonly subscriptions?: SocketSubscriptions;
  /** Takes bytes of responses from the memory budget; undefined: they are not accounted. */
  readonly reservation?: Reservation;
  /** Headers of the HTTP request, for rules; undefined over WebSocket. */
  readonly headers?: IncomingHttpHeaders;
  /** How far results are proven; undefined: not at all. */
  readonly verification?: BodyVerification | undefined;
  /** The origin of this gateway that the caller uses; undefined: an operator on the ops port. */
  readonly originOf?: () => string;
  /** The caller is an operator on the ops port. */
  readonly isOperator?: true;
  /** Line of the access log; undefined: it is off. */
  readonly logEntry?: AccessLogEntry | undefined;
}

/**
 * One call, from the envelope of its request to its response. A caller's call has a `context`; a call of Gatehouse itself
 * has none, and is only sent to upstreams. It has data and no steps: the files beside this one do the work.
 */
export class Call {
  // The request
  readonly router: Router;
  readonly method: MethodSpec;
  params: readonly unknown[];
  /** When the call must have a response, by clock.now(). */
  readonly deadline: number;
  /** JSON text of the id, exactly as sent. Undefined: a notification, which gets no response. */
  id: string | undefined = undefined;
  /** The method as the caller wrote it. */
  name: string;
  /**
   * Parameters as the caller wrote them, for the check of duplicated members; undefined: there can be none. The check removes
   * this text, which would keep the whole body in memory.
   */
  originalParamsText: string | undefined = undefined;
  #text: string | undefined;

  // The caller
  context: CallContext | undefined = undefined;
  /** The account of the slots and the memory that the call takes. */
  owner: Account = gatehouse;
  /** Whether the caller can read a large result while it arrives. False: the result is a part of another one. */
  canFlow = false;
  /** What the network has for the method. */
  served: NetworkMethod | undefined = undefined;
  /** The rejection of the call, or `none`. Set when the body is charged, so that the check runs once. */
  checked: RpcError | 'none' | undefined = undefined;
  /** Request units, set when they are first needed: for the charge, or for usage. */
  requestUnits: number | undefined = undefined;
  readonly startedAt = clock.now();
  /** What happened to the call; undefined: its request has no printer, or the call is one of Gatehouse itself. */
  record: CallRecord | undefined = undefined;
  /** How far the result is proven before it is returned; undefined: not at all. */
  verification: CallVerification | undefined = undefined;

  // Its way over the upstreams
  /** Rules of the call, set when it is sent. */
  rules: CallRules<Call> = noRules;
  /** Cancels the work at upstreams. Undefined for a call of Gatehouse itself. */
  cancellation: Cancellation | undefined = undefined;
  /** Coalesced call, which others may join. */
  coalesced: CoalescedCall | undefined = undefined;
  /** Two upstreams have the call at once. */
  isHedged = false;
  /** An identical call was sent before, as far as the cache remembers. */
  isRequestedAgain = false;
  /** The range of blocks of a method that `splits`, which may be a part of a larger one. */
  range: RangePart | undefined = undefined;
  /** Blocks that the call names; with one upstream, only if they are compared. */
  blocks: NamedBlocks | undefined = undefined;
  /** The only upstreams that may get the call; undefined: all. */
  candidates: readonly Upstream[] | undefined = undefined;
  /** Upstreams that do not get the call. */
  excluded = noUpstreams;
  /** The check that needs this call as evidence. Undefined: the call is no evidence. */
  evidenceFor: Work | undefined = undefined;
  /** Upstream that is selected before all others. */
  preferred: Upstream | undefined = undefined;
  /** Parameters in which a number replaces the tag `safe` or `finalized`. */
  pinned: PinnedParams | undefined = undefined;
  /** Requests that were sent to upstreams. */
  attempts = 0;
  tried = noUpstreams;
  failed = noFailures;
  /** The last list of logs that is not in order, and its upstream. */
  irregular: { readonly response: UpstreamResponse; readonly upstream: Upstream } | undefined = undefined;
  /** Failures that count once an upstream serves the call. */
  ignored = noIgnored;
  /** The upstream of the last outcome: that of the hedged request, if it responded first. */
  respondingUpstream: Upstream | undefined = undefined;
  /** When that upstream was asked, by clock.now(). */
  sentAt = -Infinity;
  /** Whether the circuit of the last attempt's upstream was closed. */
  wasClosed = true;
  /** Transaction of the call, set when a call that sends one is sent. */
  transaction: RawTransaction | undefined = undefined;
  /** The hash of the network's head, if each upstream that got the call is known to have had it before. For the cache. */
  headHash: string | undefined = undefined;
  /** Unconfirmed response, set while a final response needs a second one from another upstream. */
  unconfirmed: Unconfirmed | undefined = undefined;
  /** An upstream at the head returned that it does not have the block or object. */
  isMissingAtHead = false;
  /** Whether the call has waited for the head of a network whose head was not polled lately. */
  hasAwaitedHead = false;
  /** `latest` may be pinned to the head: no upstream that was asked lacked it. */
  mayPinHead = true;

  /** @param text `params` as JSON text, if that exists already */
  constructor(router: Router, method: MethodSpec, params: readonly unknown[], deadline: number, text?: string) {
    this.router = router;
    this.method = method;
    this.name = method.name;
    this.params = params;
    this.deadline = deadline;
    this.#text = text;
  }

  /** The call of a request. */
  static of({ id, method, params, text, originalParamsText }: RpcRequest, context: CallContext): Call {
    const { network, deadline } = context;
    const served = network.methods.get(method) ?? network.otherMethods;
    const call = new Call(network.router, served.spec, params, deadline, text);
    call.id = id;
    call.name = method;
    call.originalParamsText = originalParamsText;
    call.context = context;
    call.owner = context.access.account;
    call.canFlow = context.canFlow === true && id !== undefined;
    call.served = served;
    return call;
  }

  /** A call that this one needs, of the same caller, such as that for a part of its range. */
  derive(method: MethodSpec, params: readonly unknown[], text?: string): Call {
    const call = new Call(this.router, method, params, this.deadline, text);
    call.id = this.id;
    call.context = this.context;
    call.owner = this.owner;
    call.served = this.served;
    call.verification = this.verification;
    return call;
  }

  /** Sets the parameters to those that are sent, cached and coalesced. */
  replaceParams(params: readonly unknown[]): void {
    if (params === this.params) return;
    this.params = params;
    this.#text = undefined;
  }

  /** `params` as JSON text. */
  get text(): string {
    return (this.#text ??= JSON.stringify(this.params));
  }

  /** The name of the turns in which a result of the upstream is read. */
  timeOwnerFor({ name }: Upstream): string {
    return turnsFor(this.owner, name);
  }

  /** Whether another request may be sent for the call. */
  get hasAttempt(): boolean {
    const { failsafe } = this.rules;
    return failsafe === undefined || this.attempts < failsafe.maxAttempts;
  }
}
