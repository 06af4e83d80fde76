import { RpcError } from '../jsonrpc/errors.ts';

/** Whoever waits for longer is better told so: the callers before it fare no better. */
const MAX_WAIT_MS = 1_000;
const RETRY_AFTER_S = 1;

export interface CallQueueOptions {
  /** Calls with upstreams at once. */
  readonly concurrency: number;
  /** Calls that wait for one of those to end. */
  readonly queueMax: number;
  /** Hears of each that begins to wait, and of each that has ended to. */
  readonly onQueued: (change: 1 | -1) => void;
}

interface QueuedCall {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * What one network may have under way at its upstreams, and the short queue before it: upstreams that hang hold up
 * their own network's calls, and not those of the others.
 */
export class CallQueue {
  readonly #options: CallQueueOptions;
  /** In the order in which they came. */
  readonly #waiting = new Set<QueuedCall>();
  #inFlight = 0;

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  /**
   * A call is about to ask upstreams. Whoever has entered must `leave`.
   * @param deadline on the clock of performance.now()
   * @returns undefined when it may at once, else what settles when it may
   * @throws RpcError overloaded, also by the promise; it has not entered then
   */
  enter(deadline: number): Promise<void> | undefined {
    if (this.#inFlight >= this.#options.concurrency) return this.#wait(deadline);
    this.#inFlight++;
    return undefined;
  }

  leave(): void {
    for (const next of this.#waiting) {
      this.#remove(next);
      next.enter();
      return;
    }
    this.#inFlight--;
  }

  #wait(deadline: number): Promise<void> {
    if (this.#waiting.size >= this.#options.queueMax) throw overloaded();
    return new Promise((enter, reject) => {
      const onTimeout = (): void => {
        this.#remove(waiting);
        reject(overloaded());
      };
      const timer = setTimeout(onTimeout, Math.min(MAX_WAIT_MS, deadline - performance.now()));
      const waiting = { enter, timer };
      this.#waiting.add(waiting);
      this.#options.onQueued(1);
    });
  }

  #remove(waiting: QueuedCall): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
    this.#options.onQueued(-1);
  }
}

function overloaded(): RpcError {
  return new RpcError('overloaded', 'too many calls under way on this network', { retryAfterS: RETRY_AFTER_S });
}
