import type { NetworkHeads } from '../heads/network-heads.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { lookAtHead, type Asking } from './asking.ts';
import { nobodyLeft } from './exhausted.ts';
import { UpstreamFailure } from './reply.ts';
import type { Upstream } from './upstream.ts';
import { within } from './within.ts';

export interface BlockGasLimitOptions {
  readonly heads: NetworkHeads;
  readonly all: readonly Upstream[];
  /** Whom to ask next. */
  readonly next: (asking: Asking, now: number) => Upstream | undefined;
  readonly onFailed: (upstream: Upstream, method: string, error: unknown) => void;
}

/** How long it is not asked again whether blocks have a limit, unless one with a limit is seen meanwhile. */
const UNBOUNDED_MS = 300_000;

/** The gas limit of a network's newest block, above which no call can use gas. */
export class BlockGasLimit {
  readonly #options: BlockGasLimitOptions;
  #learning: Promise<bigint> | undefined;
  /** When blocks were last found to have no usable limit. */
  #unboundedAt = -Infinity;

  constructor(options: BlockGasLimitOptions) {
    this.#options = options;
  }

  /**
   * That of the newest block seen; learned first when none was seen yet.
   * @param deadline on the clock of performance.now()
   * @returns 0 where blocks come without a usable limit
   * @throws RpcError when no upstream gives a block in time
   */
  async get(deadline: number): Promise<bigint> {
    const now = performance.now();
    const known = this.#options.heads.gasLimit(now);
    if (known !== undefined) return known;
    if (now - this.#unboundedAt < UNBOUNDED_MS) return 0n;
    this.#learning ??= this.#learn().finally(() => {
      this.#learning = undefined;
    });
    return within(this.#learning, deadline - now, () => new RpcError('no-upstream'));
  }

  async #learn(): Promise<bigint> {
    const { heads, all, next, onFailed } = this.#options;
    const asking = lookAtHead();
    let hasBlock = false;
    for (;;) {
      const now = performance.now();
      const upstream = next(asking, now);
      if (upstream === undefined) {
        if (!hasBlock) throw nobodyLeft(asking.asked.length === 0 ? all : [], now);
        this.#unboundedAt = now;
        return 0n;
      }
      asking.asked.push(upstream);
      try {
        const block = await heads.look(upstream);
        if (block === undefined) throw new UpstreamFailure('node-state', 'no latest block');
        if (block.gasLimit !== undefined) return block.gasLimit;
        hasBlock = true;
      } catch (error) {
        onFailed(upstream, asking.method.name, error);
      }
    }
  }
}
