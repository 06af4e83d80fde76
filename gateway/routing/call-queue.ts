import { RpcError } from '../jsonrpc/errors.ts';
import { Cancelled, type Cancellable, type Cancellation } from '../upstreams/transport/cancellation.ts';

/** A call that waits longer is rejected, because the calls before it make no progress either. */
const MAX_WAIT_MS = 1_000;

export interface CallQueueOptions {
  /** Maximum number of calls in flight. */
  readonly concurrency: number;
  /** Maximum number of waiting calls. */
  readonly queueMax: number;
  /** Called with 1 when a call begins to wait, and with -1 when it stops waiting. */
  readonly onQueued: (change: 1 | -1) => void;
}

interface QueuedCall extends Cancellable {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
  readonly caller: Cancellation | undefined;
}

/**
 * Limits the calls in flight of one network, and queues a few more. Upstreams that do not respond then delay the calls of
 * their own network only.
 */
export class CallQueue {
  readonly #options: CallQueueOptions;
  /** In order of arrival. */
  readonly #queued = new Set<QueuedCall>();
  #inFlight = 0;

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  /**
   * Takes a place for one call. A call that has entered must `leave`.
   * @param deadline on the clock of performance.now()
   * @param caller cancels the wait; undefined if the call must not be cancelled
   * @returns undefined if the call may start now, else a promise that resolves when it may
   * @throws RpcError `overloaded`, also by the promise; Cancelled by the promise; the call has not entered then
   */
  enter(deadline: number, caller: Cancellation | undefined): Promise<void> | undefined {
    if (this.#inFlight >= this.#options.concurrency) return this.#wait(deadline, caller);
    this.#inFlight++;
    return undefined;
  }

  leave(): void {
    for (const next of this.#queued) {
      this.#remove(next);
      next.enter();
      return;
    }
    this.#inFlight--;
  }

  #wait(deadline: number, caller: Cancellation | undefined): Promise<void> {
    if (caller?.isCancelled === true) throw new Cancelled();
    if (this.#queued.size >= this.#options.queueMax) throw overloaded();
    return new Promise((enter, reject) => {
      const leaveWith = (reason: RpcError | Cancelled): void => {
        this.#remove(queued);
        reject(reason);
      };
      const onTimeout = (): void => {
        leaveWith(overloaded());
      };
      const cancel = (): void => {
        leaveWith(new Cancelled());
      };
      const timer = setTimeout(onTimeout, Math.min(MAX_WAIT_MS, deadline - performance.now()));
      const queued = { enter, timer, caller, cancel };
      this.#queued.add(queued);
      caller?.add(queued);
      this.#options.onQueued(1);
    });
  }

  #remove(queued: QueuedCall): void {
    clearTimeout(queued.timer);
    queued.caller?.delete(queued);
    this.#queued.delete(queued);
    this.#options.onQueued(-1);
  }
}

function overloaded(): RpcError {
  return new RpcError('overloaded', 'too many calls in flight on this network');
}
