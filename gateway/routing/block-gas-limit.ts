import type { NetworkHeads } from '../heads/network-heads.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { createHeadPoll, type RoutedCall } from './routed-call.ts';
import { noCandidateError } from './exhausted.ts';
import { UpstreamFailure } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { withTimeout } from '../upstreams/with-timeout.ts';

export interface BlockGasLimitOptions {
  readonly heads: NetworkHeads;
  readonly all: readonly Upstream[];
  /** Whom to ask next. */
  readonly selectNext: (routedCall: RoutedCall, now: number) => Upstream | undefined;
  readonly onFailed: (upstream: Upstream, method: string, error: unknown) => void;
}

/** The gas limit of a network's newest block, above which no call can use gas. */
export class BlockGasLimit {
  readonly #options: BlockGasLimitOptions;
  #pending: Promise<bigint> | undefined;

  constructor(options: BlockGasLimitOptions) {
    this.#options = options;
  }

  /**
   * That of the newest block seen; learned first when none was seen yet. 0: blocks come without a usable limit.
   * @param deadline on the clock of performance.now()
   * @throws RpcError when no upstream tells it in time
   */
  async get(deadline: number): Promise<bigint> {
    const known = this.#options.heads.gasLimit(performance.now());
    if (known !== undefined) return known;
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return withTimeout(this.#pending, deadline - performance.now(), () => new RpcError('no-upstream'));
  }

  async #fetch(): Promise<bigint> {
    const { heads, all, selectNext, onFailed } = this.#options;
    const routedCall = createHeadPoll();
    let isSeen = false;
    for (;;) {
      const now = performance.now();
      const upstream = selectNext(routedCall, now);
      if (upstream === undefined && isSeen) return 0n;
      if (upstream === undefined) throw noCandidateError(routedCall.tried.length === 0 ? all : [], now);
      routedCall.tried.push(upstream);
      try {
        const block = await heads.poll(upstream);
        if (block !== undefined && block.gasLimit > 0n) return block.gasLimit;
        isSeen ||= block !== undefined;
        if (block === undefined) throw new UpstreamFailure('node-state', 'the latest block is not to be had');
      } catch (error) {
        onFailed(upstream, routedCall.method.name, error);
      }
    }
  }
}
