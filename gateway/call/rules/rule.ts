import type { Failsafe } from '../../routing/failsafe-table.ts';
import type { AttemptOutcome, Outcome } from '../../upstreams/outcome.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { FlowingResponse } from '../../upstreams/transport/flowing-result.ts';
import type { UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../upstreams/upstream.ts';

/** Access of a call: of Gatehouse itself, or of a caller with a key, with a key for private transactions, or without one. */
export type RuleAccess = 'gatehouse' | 'key' | 'private' | 'public';

/**
 * What one feature adds to the calls of a method that have the same access: hooks, each of which may be missing. It runs for
 * many calls, so it keeps nothing of one.
 */
export interface Rule<Call> {
  /** Rejects the call before it has a slot of the network. @throws RpcError (rejects with it) */
  readonly admit?: (call: Call) => Promise<void>;
  /** Runs before the first attempt. A response takes the place of attempts. @throws RpcError, Cancelled (rejects with it) */
  readonly before?: (call: Call) => Promise<UpstreamResponse | undefined> | undefined;
  /** Runs before each selection of an upstream. @throws RpcError, Cancelled (rejects with it) */
  readonly select?: (call: Call) => Promise<void> | undefined;
  /** Watches an attempt, and may end it with an outcome of its own. */
  readonly during?: (call: Call, upstream: Upstream, outcome: Promise<AttemptOutcome>) => Promise<AttemptOutcome>;
  /** Judges what an upstream returned, before it is recorded. @throws RpcError, Cancelled (rejects with it) */
  readonly judge?: (
    call: Call,
    upstream: Upstream,
    outcome: Outcome,
    cancellation: Cancellation | undefined,
  ) => Promise<Outcome>;
  /** The response in place of a final one. Undefined: the call needs that of another upstream. @throws RpcError */
  readonly confirm?: (
    call: Call,
    response: UpstreamResponse | FlowingResponse,
  ) => UpstreamResponse | FlowingResponse | undefined;
  /** The response for the caller: of `before`, of an upstream, or in place of those that failed. @throws RpcError */
  readonly end?: (
    call: Call,
    response: UpstreamResponse | FlowingResponse,
  ) => UpstreamResponse | Promise<UpstreamResponse | FlowingResponse>;
}

/**
 * What calls of one method with the same access need: the hooks of their rules, in the order of the rules (undefined: no rule
 * has the hook), and what the network file says of the method.
 */
export interface CallRules<Call> {
  readonly names: readonly string[];
  readonly admit: readonly NonNullable<Rule<Call>['admit']>[] | undefined;
  readonly before: readonly NonNullable<Rule<Call>['before']>[] | undefined;
  readonly during: readonly NonNullable<Rule<Call>['during']>[] | undefined;
  readonly judge: readonly NonNullable<Rule<Call>['judge']>[] | undefined;
  readonly select: readonly NonNullable<Rule<Call>['select']>[] | undefined;
  readonly end: readonly NonNullable<Rule<Call>['end']>[] | undefined;
  /** The hook of the only rule that has it. */
  readonly confirm: Rule<Call>['confirm'];
  /** A large result may be passed on while it arrives: the method has such results, and no rule judges them. */
  readonly mayFlow: boolean;
  /** The upstreams that may get the call; undefined: all. */
  readonly candidates: readonly Upstream[] | undefined;
  /** Times and attempts. Undefined: the times of each upstream, and any number of attempts. */
  readonly failsafe: Failsafe<Upstream> | undefined;
  /** Whether the blocks that a call names are compared with those of upstreams: with one upstream, not for every method. */
  readonly comparesBlocks: boolean;
}

/** The rules of a call that is not sent. */
export const noRules = {
  ...{ names: [], admit: undefined, before: undefined, during: undefined, judge: undefined },
  ...{ select: undefined, confirm: undefined, end: undefined, mayFlow: false, candidates: undefined },
  ...{ failsafe: undefined, comparesBlocks: false },
} as const;
