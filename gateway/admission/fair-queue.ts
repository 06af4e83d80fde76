import { Deadlines, type Timed } from './deadlines.ts';
import { FairSlots, type SlotOwner, type Waiter } from './fair-slots.ts';

export interface FairQueueOptions {
  readonly slots: number;
  /** All requests are of one owner, which may take all slots. */
  readonly hasOneOwner?: boolean;
  /** Maximum number of waiting requests; one owner may have as many as there is space for others. Default: unlimited. */
  readonly queueMax?: number;
  /** A request that waits longer is rejected. Default: its own time limit. */
  readonly maxWaitMs?: number;
  /** The error of a request that is rejected. */
  readonly rejection: () => Error;
  /** Called with 1 when a request begins to wait, and with -1 when it stops waiting. */
  readonly onQueued?: (change: 1 | -1) => void;
}

/** A request that waits for its slot: one of the methods is called, once. */
export interface Queued {
  /** The request has a slot, and must `leave` at its end. */
  started(): void;
  /** The request has no slot. @param reason the queue's rejection, or the departure's reason */
  rejected(reason: Error): void;
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
  /** In its departure. */
  cancellationPlace: number;
  cancel(): void;
}

/**
 * Lets requests wait for one of the `FairSlots`. A request that need not wait costs no promise, timer or allocation, and
 * one that waits costs one object.
 */
export class FairQueue extends FairSlots {
  readonly #options: FairQueueOptions;
  readonly #deadlines = new Deadlines();
  #size: number;
  #waiting = 0;

  constructor(options: FairQueueOptions) {
    super(options.slots, options.hasOneOwner);
    this.#options = options;
    this.#size = options.slots;
  }

  set size(slots: number) {
    const change = slots - this.#size;
    this.#size = slots;
    if (change !== 0) this.resize(change);
  }

  /**
   * Lets a request wait for its slot, or rejects it at once if the queue is full.
   * @param departure cancels the wait; undefined if the request must not be cancelled
   */
  enqueue(request: Queued, owner: SlotOwner, timeLimitMs: number, departure: Departure | undefined): void {
    const { queueMax = Infinity, maxWaitMs = Infinity, rejection, onQueued } = this.#options;
    if (departure?.isCancelled === true) request.rejected(departure.reason);
    else if (this.waitersOf(owner) >= queueMax - this.#waiting) request.rejected(rejection());
    else {
      const deadline = performance.now() + Math.min(maxWaitMs, timeLimitMs);
      const waiting = new WaitingRequest(request, owner, deadline, departure, this, rejection, this.#stopped);
      this.#deadlines.add(waiting);
      this.#waiting++;
      onQueued?.(1);
    }
  }

  /** As `enqueue`, with a promise. @throws (rejects with it) the rejection, or the departure's reason */
  wait(owner: SlotOwner, timeLimitMs: number, departure: Departure | undefined): Promise<void> {
    return new Promise((started, rejected) => {
      this.enqueue({ started, rejected }, owner, timeLimitMs, departure);
    });
  }

  readonly #stopped = (waiting: WaitingRequest): void => {
    this.#deadlines.delete(waiting);
    this.#waiting--;
    this.#options.onQueued?.(-1);
  };
}

/** Stored in the list of its owner, in the deadlines of its queue, and in its departure. */
class WaitingRequest implements Waiter, Timed, Departing {
  previous: Waiter | undefined;
  next: Waiter | undefined;
  isWaiting = true;
  deadlinePlace = -1;
  cancellationPlace = -1;
  readonly deadline: number;
  readonly #request: Queued;
  readonly #owner: SlotOwner;
  readonly #departure: Departure | undefined;
  readonly #queue: FairSlots;
  readonly #rejection: () => Error;
  readonly #onStopped: (waiting: WaitingRequest) => void;

  constructor(
    request: Queued,
    owner: SlotOwner,
    deadline: number,
    departure: Departure | undefined,
    queue: FairSlots,
    rejection: () => Error,
    onStopped: (waiting: WaitingRequest) => void,
  ) {
    this.#request = request;
    this.#owner = owner;
    this.deadline = deadline;
    this.#departure = departure;
    this.#queue = queue;
    this.#rejection = rejection;
    this.#onStopped = onStopped;
    queue.addWaiter(owner, this);
    departure?.add(this);
  }

  /** The caller may be leaving: one of its requests that ended has freed this slot. */
  start(): void {
    this.#stop();
    if (this.#departure?.isCancelled !== true) this.#request.started();
    else {
      this.#queue.leave(this.#owner);
      this.#request.rejected(this.#departure.reason);
    }
  }

  timeOut(): void {
    this.#leaveWith(this.#rejection());
  }

  cancel(): void {
    this.#leaveWith((this.#departure as Departure).reason);
  }

  #leaveWith(reason: Error): void {
    if (!this.isWaiting) return;
    this.#queue.removeWaiter(this.#owner, this);
    this.#stop();
    this.#request.rejected(reason);
  }

  #stop(): void {
    this.isWaiting = false;
    this.#departure?.delete(this);
    this.#onStopped(this);
  }
}
