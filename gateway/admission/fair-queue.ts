import { FairSlots, type SlotOwner, type Waiter } from './fair-slots.ts';

export interface FairQueueOptions {
  readonly slots: number;
  /** Maximum number of waiting requests; one owner may have as many as there is space for others. Default: unlimited. */
  readonly queueMax?: number;
  /** A request that waits longer is rejected. Default: its own time limit. */
  readonly maxWaitMs?: number;
  /** The error of a request that is rejected. */
  readonly rejection: () => Error;
  /** Called with 1 when a request begins to wait, and with -1 when it stops waiting. */
  readonly onQueued?: (change: 1 | -1) => void;
}

/** The caller of a waiting request: `Cancellation` of upstreams/transport/. */
export interface Departure {
  readonly isCancelled: boolean;
  /** The error of a cancelled request. */
  readonly reason: Error;
  add(work: Departing): void;
  delete(work: Departing): void;
}

interface Departing {
  readonly isWaiting: boolean;
  cancel(): void;
}

/**
 * Lets requests wait for one of the `FairSlots`. A request that need not wait costs no promise, timer or allocation.
 */
export class FairQueue extends FairSlots {
  readonly #options: FairQueueOptions;
  #size: number;
  #waiting = 0;

  constructor(options: FairQueueOptions) {
    super(options.slots);
    this.#options = options;
    this.#size = options.slots;
  }

  set size(slots: number) {
    const change = slots - this.#size;
    this.#size = slots;
    if (change !== 0) this.resize(change);
  }

  /**
   * Waits for the slot of a request, which must then `leave` at its end.
   * @param departure cancels the wait; undefined if the request must not be cancelled
   * @throws (rejects with it) the rejection, or the departure's reason; the request has no slot then
   */
  wait(owner: SlotOwner, timeLimitMs: number, departure: Departure | undefined): Promise<void> {
    const { queueMax = Infinity, maxWaitMs = Infinity, rejection, onQueued } = this.#options;
    if (departure?.isCancelled === true) return Promise.reject(departure.reason);
    if (this.waitersOf(owner) >= queueMax - this.#waiting) return Promise.reject(rejection());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        departure?.delete(waiter);
        this.#waiting--;
        onQueued?.(-1);
      };
      const leaveWith = (reason: Error): void => {
        this.removeWaiter(owner, waiter);
        end();
        reject(reason);
      };
      const timer = setTimeout(
        () => {
          leaveWith(rejection());
        },
        Math.min(maxWaitMs, timeLimitMs),
      );
      const waiter: Waiter & Departing = {
        previous: undefined,
        next: undefined,
        isWaiting: true,
        start: () => {
          end();
          resolve();
        },
        cancel: () => {
          leaveWith((departure as Departure).reason);
        },
      };
      this.addWaiter(owner, waiter);
      departure?.add(waiter);
      this.#waiting++;
      onQueued?.(1);
    });
  }
}
