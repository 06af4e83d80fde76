import type { NetworkHeads } from '../heads/network-heads.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { createHeadPoll, type RoutedCall } from './routed-call.ts';
import { noCandidateError } from './exhausted.ts';
import { UpstreamFailure } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';

export interface BlockGasLimitOptions {
  readonly heads: NetworkHeads;
  /** The upstreams whose heads may be polled. */
  readonly sources: readonly Upstream[];
  /** Selects the upstream of the next attempt. */
  readonly selectNext: (routedCall: RoutedCall, now: number) => Upstream | undefined;
  readonly onFailed: (upstream: Upstream, method: string, error: unknown) => void;
}

/** Gets the gas limit of the network's newest block, from polled heads or from an upstream, for the gas cap of calls. */
export class BlockGasLimit {
  readonly #options: BlockGasLimitOptions;
  #pending: Promise<bigint> | undefined;

  constructor(options: BlockGasLimitOptions) {
    this.#options = options;
  }

  /**
   * The gas limit of the newest known block; polls upstreams if no block is known. 0: blocks have no usable gas limit.
   * @param deadline on the clock of performance.now()
   * @throws RpcError if no upstream responds in time
   */
  async get(deadline: number): Promise<bigint> {
    const gasLimit = this.#options.heads.gasLimit(performance.now());
    if (gasLimit !== undefined) return gasLimit;
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return withTimeout(this.#pending, deadline - performance.now(), () => new RpcError('no-upstream'));
  }

  async #fetch(): Promise<bigint> {
    const { heads, sources, selectNext, onFailed } = this.#options;
    const routedCall = createHeadPoll(sources);
    let hasBlock = false;
    for (;;) {
      const now = performance.now();
      const upstream = selectNext(routedCall, now);
      if (upstream === undefined && hasBlock) return 0n;
      if (upstream === undefined) throw noCandidateError(routedCall.tried.length === 0 ? sources : [], now);
      routedCall.tried = [...routedCall.tried, upstream];
      try {
        const block = await heads.poll(upstream);
        if (block !== undefined && block.gasLimit > 0n) return block.gasLimit;
        hasBlock ||= block !== undefined;
        if (block === undefined) throw new UpstreamFailure('node-state', 'no latest block in the response');
      } catch (error) {
        onFailed(upstream, routedCall.method.name, error);
      }
    }
  }
}
