import { clock } from '../../clock/clock.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';
import { checkChain } from '../transport/check-chain.ts';
import {
  TimedOut,
  UpstreamFailure,
  type ErrorResponse,
  type UpstreamResponse,
} from '../transport/upstream-response.ts';
import { withTimeout } from './with-timeout.ts';

export interface ChainCheckOptions {
  readonly chainId: number;
  /** The failure of the upstream as a whole that an error reports. Undefined: any other error, so it has no chain id. */
  readonly failureOf: (error: ErrorResponse) => UpstreamFailure | undefined;
  /** Resolves when the local node that the gateway starts is ready. */
  readonly starting: Promise<unknown> | undefined;
  /** Sends eth_chainId. @throws UpstreamFailure */
  readonly request: (method: string) => Promise<UpstreamResponse>;
}

/**
 * Checks the chain id of one upstream before its first request, and again after its circuit has opened, each minute of use,
 * after a new connection, and after a head that does not continue the chain.
 */
export class ChainCheck {
  readonly #options: ChainCheckOptions;
  #localNodeStart: Promise<unknown> | undefined;
  #running: Promise<void> | undefined;
  isDone = false;
  /** Time when the last check began. */
  checkedAt = -Infinity;
  /** Whether the last check returned the chain id of another network. */
  isOnOtherChain = false;

  constructor(options: ChainCheckOptions) {
    this.#options = options;
    this.#localNodeStart = options.starting;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Waits for a local node to start, and checks the chain id. Concurrent calls share one check. */
  async prepare(deadline: number): Promise<void> {
    if (this.#localNodeStart !== undefined) {
      const started = this.#localNodeStart.catch(() => {
        throw new UpstreamFailure('transport', 'the local node did not start');
      });
      await withTimeout(started, deadline - clock.now(), () => new TimedOut());
      this.#localNodeStart = undefined;
    }
    await withTimeout(this.run(), deadline - clock.now(), () => new TimedOut());
  }

  /** Checks the chain id. @throws UpstreamFailure */
  run(): Promise<void> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #check(): Promise<void> {
    this.checkedAt = clock.now();
    const response = await this.#options.request(nodeMethods.chainId);
    const failed = response.kind === 'error' ? this.#options.failureOf(response) : undefined;
    if (failed !== undefined) throw failed;
    try {
      checkChain(response, this.#options.chainId);
    } catch (error) {
      this.isOnOtherChain = error instanceof UpstreamFailure && error.failure === 'wrong-chain';
      if (this.isOnOtherChain) this.isDone = false;
      throw error;
    }
    this.isDone = true;
    this.isOnOtherChain = false;
  }
}
