import type { MethodSpec } from '../spec/method-spec.ts';
import type { NamedBlocks } from '../upstreams/available-blocks.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { groupOf, isRead, type MethodGroup } from '../spec/method-group.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { CallObserver } from '../observability/call-observer.ts';

/** Mostly no attempt fails: one for all calls. */
const none: readonly FailedOutcome[] = [];

/** A call, ready for upstreams. */
export interface UpstreamCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  /** The same as JSON. */
  readonly text: string;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** Breaks it off; what is sent takes effect all the same, and so is never broken off. */
  readonly caller?: Cancellation | undefined;
  /** Hears how it went. */
  readonly observer?: CallObserver | undefined;
}

/** A call on its way from one upstream to the next. */
export interface RoutedCall {
  readonly method: MethodSpec;
  readonly group: MethodGroup;
  readonly params: readonly unknown[];
  /** The same as JSON. */
  readonly text: string;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** Undefined where it must not be broken off. */
  readonly cancellation: Cancellation | undefined;
  readonly blocks: NamedBlocks | undefined;
  /** To be asked before all others. */
  readonly preferred: Upstream | undefined;
  readonly observer: CallObserver | undefined;
  readonly tried: Upstream[];
  failed: readonly FailedOutcome[];
}

/** What the gateway asks for itself. */
export function createCall(method: MethodSpec, params: readonly unknown[], deadline: number): UpstreamCall {
  return { method, params, text: JSON.stringify(params), deadline };
}

export function createRoutedCall(
  { method, params, text, deadline, caller, observer }: UpstreamCall,
  blocks: NamedBlocks | undefined,
  preferred: Upstream | undefined,
): RoutedCall {
  const cancellation = isRead(method) ? caller : undefined;
  const group = groupOf(method);
  return { method, group, params, text, deadline, cancellation, blocks, preferred, observer, tried: [], failed: none };
}

const head: MethodSpec = {
  name: 'eth_getBlockByNumber',
  namespace: 'eth',
  nullable: true,
  reverts: false,
  hashParams: [],
};

/** The gateway's own look at a head. */
export function createHeadPoll(): RoutedCall {
  const unset = { cancellation: undefined, blocks: undefined, preferred: undefined, observer: undefined };
  const headPoll = { method: head, group: 'lookup', params: ['latest', false], text: '["latest",false]' } as const;
  return { ...headPoll, ...unset, deadline: Infinity, tried: [], failed: none };
}
