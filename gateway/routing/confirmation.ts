import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../jsonrpc/errors.ts';
import type { ConfirmNull } from '../network-files/network-config.ts';
import { isRead } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { MIN_ATTEMPT_MS } from './attempts.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import { hasAttempt, type RoutedCall } from './routed-call.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** One second in all. */
const INDEX_WAITS_MS = [100, 300, 600];

/**
 * Decides which final responses need a second response from another upstream: blocks older than served ones, and some
 * nulls (null confirmation). geth with a short transaction index, and a node that lags, return null for objects that exist.
 */
export class Confirmation {
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #policy: ConfirmNull;
  readonly #isAlone: boolean;
  readonly #isDevelopment: boolean;

  /**
   * @param isAlone the network has one upstream: only what is older than served blocks is confirmed, by the same one
   * @param isDevelopment a development chain, whose node may remove blocks at any time
   */
  constructor(monotonic: MonotonicReads<Upstream>, policy: ConfirmNull, isAlone: boolean, isDevelopment: boolean) {
    this.#monotonic = monotonic;
    this.#policy = policy;
    this.#isAlone = isAlone;
    this.#isDevelopment = isDevelopment;
  }

  /**
   * The response for the caller: of two, the newer one. Undefined: the call needs the response of another upstream.
   * @throws RpcError if a pass-through call needs one, because it is not sent again
   */
  confirm(routedCall: RoutedCall, response: UpstreamResponse): UpstreamResponse | undefined {
    if (this.#isAlone && this.#isDevelopment) return response;
    const { method, unconfirmed, respondingUpstream, askedAt } = routedCall;
    if (respondingUpstream === undefined) return response;
    const newer = unconfirmed === undefined ? response : this.#selectNewer(method, unconfirmed, response);
    const isUnconfirmed =
      unconfirmed === undefined
        ? this.isNeeded(routedCall, response, respondingUpstream, askedAt)
        : this.#monotonic.isOlder(routedCall, newer) ||
          (!routedCall.isEvidence &&
            isAbsent(method, newer) &&
            (this.#isAlone ||
              this.#mayLag(respondingUpstream, askedAt) ||
              this.#monotonic.hasServedCanonical(routedCall)));
    if (!isUnconfirmed) return this.#monotonic.raiseToServed(method, newer);
    if (method.isPassThrough === true) throw new RpcError('no-upstream');
    routedCall.unconfirmed = newer;
    if (isAbsent(method, response) && this.isAtHead(routedCall)) routedCall.isMissingAtHead = true;
    routedCall.isEvidence = isAbsent(method, newer)
      ? !this.#mayLag(respondingUpstream, askedAt) && !this.#monotonic.hasServed(routedCall)
      : !this.#monotonic.isOlder(routedCall, newer);
    this.#pin(routedCall);
    return undefined;
  }

  /** The response with the newer block. A pending transaction is newer than null. */
  #selectNewer(method: MethodSpec, one: UpstreamResponse, other: UpstreamResponse): UpstreamResponse {
    return isPending(method, one) && isEmptyResponse(method, other) ? one : this.#monotonic.selectNewer(one, other);
  }

  /** Names the newest served block in place of the tag, so that the same upstream, or another, can return it. */
  #pin(routedCall: RoutedCall): void {
    const number = this.#monotonic.newerFor(routedCall);
    const param = routedCall.method.blockAt?.param;
    if (number === undefined || param === undefined) return;
    const params = routedCall.params.with(param, `0x${number.toString(16)}`);
    routedCall.pinned = { number, params, text: JSON.stringify(params) };
    routedCall.tried = routedCall.tried.slice(0, -1);
  }

  /**
   * The response if no other upstream can confirm it.
   * @param candidates the upstreams that may get the call
   * @throws RpcError if it is older than what callers were served, or may be null although the object exists, or if only
   *   `maxAttempts` prevented its confirmation
   */
  acceptUnconfirmed(
    routedCall: RoutedCall,
    response: UpstreamResponse,
    candidates: readonly Upstream[],
  ): UpstreamResponse {
    const { tried } = routedCall;
    if (!hasAttempt(routedCall) && candidates.some((upstream) => !tried.includes(upstream)))
      throw new RpcError('no-upstream');
    if (!routedCall.isEvidence && !this.#isDevelopment) throw new RpcError('no-upstream');
    return response;
  }

  /** Whether a first response needs a second one. */
  isNeeded(routedCall: RoutedCall, response: UpstreamResponse, upstream: Upstream, askedAt: number): boolean {
    if (this.#isOlder(routedCall, response)) return true;
    if (this.#isAlone || response.kind !== 'result') return false;
    const { method } = routedCall;
    // A syncing status needs it too. `false` is enough: calls are sent to upstreams that are not behind.
    if (method.resultIs === 'sync-status') return response.result !== false;
    if (!isAbsent(method, response) || this.#policy === 'never') return false;
    if (method.isPassThrough === true) return isRead(method) && this.#mayLag(upstream, askedAt);
    if (this.#policy === 'always' && method.looksUpHash === true && isEmptyResponse(method, response)) return true;
    return upstream.blocks.isMissingHistory || this.#mayLag(upstream, askedAt);
  }

  /**
   * Whether the response is so old that its upstream may be tried again: several nodes may share its URL. A second null of the
   * same upstream is no evidence beside others.
   */
  canRepeat(routedCall: RoutedCall): boolean {
    const { unconfirmed, pinned } = routedCall;
    if (unconfirmed === undefined || pinned !== undefined) return false;
    return this.#isAlone ? this.#isOlder(routedCall, unconfirmed) : this.#monotonic.isOlder(routedCall, unconfirmed);
  }

  /**
   * Whether a response is older than what callers were served: an older block for a tag, null for a served block, or a pending
   * transaction of a served block.
   */
  #isOlder(routedCall: RoutedCall, response: UpstreamResponse): boolean {
    if (this.#monotonic.isOlder(routedCall, response)) return true;
    const { method } = routedCall;
    if (this.#policy === 'never' || !method.nullable || !isAbsent(method, response)) return false;
    return this.#monotonic.hasServed(routedCall);
  }

  /**
   * If an upstream at the head does not find a served object of one of the newest blocks, which it may index later: waits until
   * the call may be sent again. All upstreams count as untried then.
   * @param takeRetry takes a retry from the budget
   */
  async awaitIndex(routedCall: RoutedCall, takeRetry: (now: number) => boolean): Promise<boolean> {
    const { method, unconfirmed, deadline, waits } = routedCall;
    if (unconfirmed === undefined || !isAbsent(method, unconfirmed) || this.#isDevelopment) return false;
    // A failure of another upstream, which was asked to confirm it, changes nothing.
    if (!routedCall.isMissingAtHead || !this.#monotonic.hasServedCanonical(routedCall)) return false;
    const now = performance.now();
    const waitMs = INDEX_WAITS_MS[waits];
    if (waitMs === undefined || deadline - now - waitMs <= MIN_ATTEMPT_MS || !takeRetry(now)) return false;
    routedCall.waits++;
    await delay(waitMs);
    routedCall.tried = [];
    return true;
  }

  /** Whether the upstream of the last outcome was at the head when it was asked. */
  isAtHead({ respondingUpstream, askedAt }: RoutedCall): boolean {
    return respondingUpstream !== undefined && !this.#mayLag(respondingUpstream, askedAt);
  }

  /** Whether the upstream's head was behind when it was asked, or may have been. */
  #mayLag(upstream: Upstream, askedAt: number): boolean {
    return upstream.isHeadUncertain || this.#monotonic.hasLagged(upstream, askedAt);
  }
}

/** Whether the response shows that no block has the object: there is none, or it is a pending transaction. */
function isAbsent(method: MethodSpec, response: UpstreamResponse): boolean {
  return isEmptyResponse(method, response) || isPending(method, response);
}

/** Null, if the method may return it, or `0x`, which geth returns for a block or raw transaction that it lacks. */
function isEmptyResponse({ nullable, isPassThrough }: MethodSpec, response: UpstreamResponse): boolean {
  if (response.kind !== 'result' || (!nullable && isPassThrough !== true)) return false;
  return response.result === null || response.result === '0x';
}

function isPending({ shape }: MethodSpec, response: UpstreamResponse): boolean {
  if (shape?.type !== 'Transaction' || response.kind !== 'result') return false;
  return (response.result as { readonly blockHash?: unknown } | null)?.blockHash === null;
}
