import type { SentTo } from '../cache/response-cache.ts';
import type { MethodGroup, MethodSpec } from '../spec/method-spec.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import type { NamedBlocks } from '../upstreams/available-blocks.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Failsafe } from './retry/failsafe-table.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { AttemptObserver } from '../observability/call-observer.ts';

/** Shared by all calls: an array that grows by `push` takes 150 bytes, and most calls have no failed attempt. */
const noFailures: readonly FailedOutcome[] = [];
const noUpstreams: readonly Upstream[] = [];

/** A range of blocks in a call, which may be a part of a larger one. `ranges/` learns from it what upstreams allow. */
export interface RangePart {
  /** Selected first, unless it has a skip reason. */
  readonly first: Upstream | undefined;
  /** `allows` was false for an upstream that would have been selected. */
  readonly hasSkipped: boolean;
  /** Whether the upstream has not refused such a range before. */
  allows(upstream: Upstream): boolean;
  /** The upstream returned that the range or its result is too large. */
  refused(upstream: Upstream, response: UpstreamResponse | undefined): void;
  /** The upstream returned nothing usable. */
  failed(upstream: Upstream): void;
  returned(upstream: Upstream): void;
}

/** A validated call with its deadline, before routing. */
export interface UpstreamCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  /** `params` as JSON text. */
  readonly text: string;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /**
   * Names the key, and cancels the call when the caller disconnects. That of a method that sends transactions is never
   * cancelled. Undefined: a call of Gatehouse itself.
   */
  readonly caller?: Cancellation | undefined;
  /** Receives the events of the call. */
  readonly observer?: AttemptObserver | undefined;
  /** For the cache; undefined if it is not used. */
  readonly sentTo?: SentTo | undefined;
  /** Of a method that `splits`; undefined for other methods. */
  readonly range?: RangePart | undefined;
}

/** The parameters of a call with the number of a block in place of its tag. */
export interface PinnedParams {
  readonly number: bigint;
  readonly params: readonly unknown[];
  readonly text: string;
}

/** A call during routing: what it needs, which upstreams were tried, and how they failed. */
export interface RoutedCall {
  readonly method: MethodSpec;
  readonly group: MethodGroup;
  readonly params: readonly unknown[];
  /** `params` as JSON text. */
  readonly text: string;
  /** Parameters in which a number replaces the tag `safe` or `finalized`. */
  pinned: PinnedParams | undefined;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** Undefined for a call of Gatehouse itself. */
  readonly cancellation: Cancellation | undefined;
  readonly blocks: NamedBlocks | undefined;
  /** The only upstreams that may get the call; undefined: all. */
  readonly candidates: readonly Upstream[] | undefined;
  /** Selected before all other upstreams. */
  readonly preferred: Upstream | undefined;
  readonly observer: AttemptObserver | undefined;
  readonly sentTo: SentTo | undefined;
  readonly range: RangePart | undefined;
  /** Of the method. Undefined: the times of each upstream, and any number of attempts. */
  readonly failsafe: Failsafe<Upstream> | undefined;
  /** Requests that were sent to upstreams. */
  attempts: number;
  tried: readonly Upstream[];
  failed: readonly FailedOutcome[];
  /** The upstream of the last outcome: that of the hedged request, if it responded first. */
  respondingUpstream: Upstream | undefined;
  /** When that upstream was asked, by performance.now(). */
  askedAt: number;
  /** A final response that needs a second one from another upstream. */
  unconfirmed: UpstreamResponse | undefined;
  /** `unconfirmed` is evidence: it is from an upstream at the head, and contradicts nothing that callers were served. */
  isEvidence: boolean;
  /** An upstream at the head returned that it does not have the block or object. */
  isMissingAtHead: boolean;
  /** The heads of upstreams that lag were polled for this call. */
  hasPolledHeads: boolean;
  /** How often the call waited until upstreams have indexed a served block. */
  waits: number;
}

/** A call of Gatehouse itself, without a caller. */
export function createCall(method: MethodSpec, params: readonly unknown[], deadline: number): UpstreamCall {
  return { method, params, text: JSON.stringify(params), deadline };
}

/** Whether another request may be sent for the call. */
export function hasAttempt({ failsafe, attempts }: RoutedCall): boolean {
  return failsafe === undefined || attempts < failsafe.maxAttempts;
}

export function createRoutedCall(
  { method, params, text, deadline, caller, observer, sentTo, range }: UpstreamCall,
  blocks: NamedBlocks | undefined,
  preferred: Upstream | undefined,
  candidates?: readonly Upstream[],
  failsafe?: Failsafe<Upstream>,
): RoutedCall {
  return {
    method,
    group: method.group,
    params,
    text,
    pinned: undefined,
    deadline,
    cancellation: caller,
    blocks,
    candidates,
    preferred,
    observer,
    sentTo,
    range,
    failsafe,
    attempts: 0,
    tried: noUpstreams,
    failed: noFailures,
    respondingUpstream: undefined,
    askedAt: -Infinity,
    unconfirmed: undefined,
    isEvidence: false,
    isMissingAtHead: false,
    hasPolledHeads: false,
    waits: 0,
  };
}

const head: MethodSpec = {
  name: nodeMethods.blockByNumber,
  namespace: 'eth',
  group: 'lookup',
  nullable: true,
  reverts: false,
  hashParams: [],
};

/**
 * The call for which `BlockGasLimit` selects upstreams: a poll of the head.
 * @param candidates the upstreams whose heads may be polled; undefined: all
 */
export function createHeadPoll(candidates?: readonly Upstream[]): RoutedCall {
  const unset = {
    ...{ pinned: undefined, cancellation: undefined, blocks: undefined, preferred: undefined, observer: undefined },
    ...{ sentTo: undefined, range: undefined, candidates, failsafe: undefined, attempts: 0 },
    ...{ respondingUpstream: undefined, askedAt: -Infinity, unconfirmed: undefined },
    ...{ isEvidence: false, isMissingAtHead: false, hasPolledHeads: false, waits: 0 },
  };
  const headPoll = { method: head, group: 'lookup', params: ['latest', false], text: '["latest",false]' } as const;
  return { ...headPoll, ...unset, deadline: Infinity, tried: noUpstreams, failed: noFailures };
}
