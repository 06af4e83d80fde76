import type { ReplaceableConfig } from '../network-files/network-config.ts';
import { sendsTransactions } from '../spec/method-facts.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { PermittedUpstreams, RoutedUpstream } from './permitted-upstreams.ts';

/** Where a call that sends a transaction goes. */
export interface TransactionRoute<Upstream> {
  /** The only upstreams that may get the call. Empty: none may. */
  readonly upstreams: readonly Upstream[];
  /** All of them get it, each once. Otherwise one after the other. */
  readonly isAtOnce: boolean;
  /** If none of them has responded after this time, these get it. */
  readonly fallback: { readonly afterMs: number; readonly upstreams: readonly Upstream[] } | undefined;
}

/** The upstreams that get transactions, by `transactions` and `private` of the network file. It does not select. */
export class TransactionRoutes<Upstream extends RoutedUpstream> {
  readonly #all: readonly Upstream[];
  readonly #permitted: PermittedUpstreams<Upstream>;
  readonly #isAtOnce: boolean;
  readonly #relays: ReplaceableConfig['private'];

  /** @param all the open upstreams of the network */
  constructor(
    { transactions, private: relays }: ReplaceableConfig,
    all: readonly Upstream[],
    permitted: PermittedUpstreams<Upstream>,
  ) {
    this.#all = all;
    this.#permitted = permitted;
    this.#isAtOnce = transactions !== 'first';
    this.#relays = relays;
  }

  /**
   * Undefined: the call goes to one of the permitted upstreams after the other, as any other call.
   * @param isPrivate the key of the call has the capability `private`
   */
  routeOf({ name, sends }: MethodSpec, isPrivate: boolean): TransactionRoute<Upstream> | undefined {
    const isAtOnce = sends === true;
    if (!isPrivate)
      return isAtOnce && this.#isAtOnce
        ? { upstreams: this.#permitted.candidatesOf(name) ?? this.#all, isAtOnce, fallback: undefined }
        : undefined;
    if (!sendsTransactions(name)) return undefined;
    const { upstreams: relays = [], fallbackAfterMs: afterMs } = this.#relays ?? {};
    const isRelay = (upstream: Upstream): boolean => relays.includes(upstream.name);
    // What a method without a schema does when it is sent again is not known: it has no fallback.
    const fallback =
      afterMs === undefined || !isAtOnce
        ? undefined
        : { afterMs, upstreams: (this.#permitted.candidatesOf(name) ?? this.#all).filter((one) => !isRelay(one)) };
    return { upstreams: this.#permitted.sourcesOf(name).filter(isRelay), isAtOnce, fallback };
  }
}
