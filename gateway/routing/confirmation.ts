import type { ConfirmNull } from '../network-files/network-config.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { RoutedCall } from './routed-call.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';

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
   * @param isDevelopment a development chain, whose only upstream can go back at any time
   */
  constructor(monotonic: MonotonicReads<Upstream>, policy: ConfirmNull, isAlone: boolean, isDevelopment: boolean) {
    this.#monotonic = monotonic;
    this.#policy = policy;
    this.#isAlone = isAlone;
    this.#isDevelopment = isDevelopment;
  }

  /** The response for the caller: of two, the newer one. Undefined: the call needs the response of another upstream. */
  confirm(routedCall: RoutedCall, response: UpstreamResponse): UpstreamResponse | undefined {
    if (this.#isAlone && this.#isDevelopment) return response;
    const { method, unconfirmed, respondingUpstream } = routedCall;
    const newer = unconfirmed === undefined ? response : this.#monotonic.selectNewer(unconfirmed, response);
    const isUnconfirmed =
      unconfirmed === undefined
        ? respondingUpstream !== undefined && this.isNeeded(routedCall, response, respondingUpstream)
        : this.#monotonic.isOlder(routedCall, newer);
    if (!isUnconfirmed) return this.#monotonic.raiseToServed(method, newer);
    routedCall.unconfirmed = newer;
    return undefined;
  }

  /** Whether a first response needs a second one. */
  isNeeded(routedCall: RoutedCall, response: UpstreamResponse, upstream: Upstream): boolean {
    if (this.isOlder(routedCall, response)) return true;
    if (this.#isAlone || response.kind !== 'result') return false;
    const { method } = routedCall;
    // A syncing status needs it too. `false` is enough: calls are sent to upstreams that are not behind.
    if (method.resultIs === 'sync-status') return response.result !== false;
    if (response.result !== null || !method.nullable || this.#policy === 'never') return false;
    if (this.#policy === 'always' && method.looksUpHash === true) return true;
    return upstream.blocks.isMissingHistory || this.#monotonic.isLagging(upstream);
  }

  /** Whether a response is older than what callers were served: an older block for a tag, or null for a served block. */
  isOlder(routedCall: RoutedCall, response: UpstreamResponse): boolean {
    if (this.#monotonic.isOlder(routedCall, response)) return true;
    if (response.kind !== 'result' || response.result !== null || this.#policy === 'never') return false;
    return routedCall.method.nullable && this.#monotonic.hasServed(routedCall);
  }
}
