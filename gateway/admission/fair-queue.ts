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
 * Limits the requests in progress by `FairSlots`, and lets further ones wait. A request that need not wait costs no
 * promise, timer or allocation.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #slots: FairSlots;
  #size: number;
  #waiting = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#slots = new FairSlots(options.slots);
    this.#size = options.slots;
  }

  set size(slots: number) {
    const change = slots - this.#size;
    this.#size = slots;
    if (change !== 0) this.#slots.resize(change);
  }

  /** Takes a slot for a request, which must `leave` at its end. @returns false if the request must `wait` */
  tryEnter(owner: SlotOwner): boolean {
    return this.#slots.take(owner);
  }

  leave(owner: SlotOwner): void {
    this.#slots.release(owner);
  }

  /**
   * Waits for the slot of a request, which must then `leave` at its end.
   * @param departure cancels the wait; undefined if the request must not be cancelled
   * @throws (rejects with it) the rejection, or the departure's reason; the request has no slot then
   */
  wait(owner: SlotOwner, timeLimitMs: number, departure: Departure | undefined): Promise<void> {
    const { queueMax = Infinity, maxWaitMs = Infinity, rejection, onQueued } = this.#options;
    if (departure?.isCancelled === true) return Promise.reject(departure.reason);
    if (this.#slots.waitingOf(owner) >= queueMax - this.#waiting) return Promise.reject(rejection());
    return new Promise((resolve, reject) => {
      const slots = this.#slots;
      const end = (): void => {
        clearTimeout(timer);
        departure?.delete(waiter);
        this.#waiting--;
        onQueued?.(-1);
      };
      const leaveWith = (reason: Error): void => {
        slots.leave(owner, waiter);
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
      slots.wait(owner, waiter);
      departure?.add(waiter);
      this.#waiting++;
      onQueued?.(1);
    });
  }
}
