import { clock } from '../clock/clock.ts';
import { LinkedList, type Linked } from '../collections/linked-list.ts';
import { gatehouse, type Account } from './account.ts';
import { Deadlines, type Timed } from './deadlines.ts';
import type { SlotLease, SlotLeases, SlotPool } from './slot-lease.ts';

/** An owner may have this share of all slots, whatever its weight. */
const MAX_SHARE = 7 / 8;

/** An owner may take a slot while it has fewer than this many times the free slots, times its weight. */
const MAX_PER_FREE_SLOT = 7;

export interface GateOptions {
  readonly slots: number;
  /** All requests are of one owner, which may take all slots. */
  readonly hasOneOwner?: boolean;
  /** Slots of one owner. Members of an account count apart. */
  readonly perOwner?: number;
  /** Maximum number of waiting requests; one owner may have as many as there is space for others. Default: unlimited. */
  readonly queueMax?: number;
  /** A request that waits longer is rejected. Default: its own time limit. */
  readonly maxWaitMs?: number;
  /** The error of a request that is rejected. */
  readonly rejection: () => Error;
  /** Listener, called with 1 when a request begins to wait, and with -1 when it stops waiting. */
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
  /** Place in its departure. */
  cancellationPlace: number;
  cancel(): void;
}

/** What one owner has of the slots, and its waiting requests in order of arrival. */
class OwnerQueue implements SlotPool {
  readonly owner: Account;
  /** Lease of the owner's slots in all workers together; undefined: it may have as many as any owner. */
  lease: SlotLease | undefined;
  readonly requests = new LinkedList<WaitingRequest>();
  waiting = 0;
  inFlight = 0;
  /** Rises when it begins to wait, takes a slot or releases one: those with equally many slots take turns. */
  turn = 0;
  /** Index in the list of queues that wait. */
  place = -1;
  readonly #onSize: () => void;
  #size = 0;

  /** @param onSize called when its lease has more slots, or fewer */
  constructor(owner: Account, onSize: () => void) {
    this.owner = owner;
    this.#onSize = onSize;
  }

  get slotsPerWeight(): number {
    return this.inFlight / this.owner.weight;
  }

  /** Slots of the lease in this worker. */
  get size(): number {
    return this.#size;
  }

  set size(slots: number) {
    this.#size = slots;
    this.#onSize();
  }
}

/**
 * Shares a number of slots fairly over the owners of requests. A free slot goes to a waiting owner with the fewest slots
 * per weight, to those with equally many in turn. Some slots stay free for owners that have none, so that a request of
 * theirs need not wait for another one to end: not if workers share the slots of several owners, since each worker requests
 * those that others do not use. A request that need not wait costs no promise, timer or allocation.
 */
export class Gate implements SlotPool {
  /** Sets the size, if other workers share the slots. */
  lease: SlotLease | undefined;
  readonly #options: GateOptions;
  #slots: number;
  #free: number;
  /** Number of owners with slots. */
  #owners = 0;
  #perOwner: number | undefined;
  readonly #queues = new WeakMap<Account, OwnerQueue>();
  /** Queues with waiting requests; each start looks at all of them: at most as many as requests wait. */
  #waitingQueues: OwnerQueue[] = [];
  #waitingCount = 0;
  #turn = 0;
  readonly #deadlines = new Deadlines();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#slots = options.slots;
    this.#free = options.slots;
    this.#perOwner = options.perOwner;
  }

  get perOwner(): number | undefined {
    return this.#perOwner;
  }

  /** A change takes effect as that of `size`. */
  set perOwner(slots: number | undefined) {
    this.#perOwner = slots;
    this.#startWaiting();
  }

  /** Slots of all workers together. */
  get limit(): number {
    return this.lease?.limit ?? this.#slots;
  }

  /** @param isShared whether all gateways have the limit together */
  setLimit(slots: number, isShared?: boolean): void {
    if (this.lease === undefined) this.size = slots;
    else this.lease.setLimit(slots, isShared);
  }

  get size(): number {
    return this.#slots;
  }

  /** Requests that have a slot. */
  get inFlight(): number {
    return this.#slots - this.#free;
  }

  /** Owners that have slots, without Gatehouse itself. */
  get callers(): number {
    return this.#owners - (this.takenBy(gatehouse) > 0 ? 1 : 0);
  }

  /** Slots that an owner has. */
  takenBy(owner: Account): number {
    return this.#queueOf(owner).inFlight;
  }

  /** Requests that wait for one of these slots, and not for one of their owner's. */
  get waiting(): number {
    if (this.#perOwner === undefined) return this.#waitingCount;
    return this.#waitingQueues.reduce((sum, queue) => sum + Math.min(queue.waiting, this.#ownSlotsOf(queue)), 0);
  }

  get hasWaiting(): boolean {
    return this.#waitingCount > 0;
  }

  /** More slots take effect at once, fewer as requests end: until then, owners without a slot may take one. */
  set size(slots: number) {
    if (slots === this.#slots) return;
    this.#free += slots - this.#slots;
    this.#slots = slots;
    this.#startWaiting();
  }

  /** Opens the lease of an owner, whose requests take one of its slots besides one of these. */
  leaseTo(owner: Account, leases: SlotLeases, limit: number): void {
    const queue = this.#queueOf(owner);
    queue.lease = leases.open(owner.name, limit, queue);
  }

  /** The lease of an owner; undefined: it may have as many slots as any owner. */
  leaseOf(owner: Account): SlotLease | undefined {
    return this.#queueOf(owner).lease;
  }

  /** Takes a slot for a request, which must `leave` at its end. @returns false if the request must wait */
  tryEnter(owner: Account): boolean {
    const queue = this.#queueOf(owner);
    if (queue.waiting > 0 || !(this.#mayTake(queue) || this.#mayExceed(queue))) {
      this.#requestMore(queue);
      return false;
    }
    this.#take(queue);
    return true;
  }

  /**
   * Waits for the slot of a request, which must `leave` at its end.
   * @param departure cancels the wait; undefined if the request must not be cancelled
   * @throws the rejection, at once if the queue is full, or the departure's reason (rejects with it)
   */
  wait(owner: Account, timeLimitMs: number, departure: Departure | undefined): Promise<void> {
    return new Promise((started, rejected) => {
      const { queueMax = Infinity, maxWaitMs = Infinity, rejection } = this.#options;
      const queue = this.#queueOf(owner);
      if (departure?.isCancelled === true) rejected(departure.reason);
      else if (queue.waiting >= queueMax - this.#waitingCount) rejected(rejection());
      else {
        const deadline = clock.now() + Math.min(maxWaitMs, timeLimitMs);
        const request = new WaitingRequest(started, rejected, deadline, departure, (reason) => {
          this.#abandon(queue, request, reason ?? rejection());
        });
        this.#add(queue, request);
      }
    });
  }

  /** The number of waiting requests of an owner. */
  waitersOf(owner: Account): number {
    return this.#queues.get(owner)?.waiting ?? 0;
  }

  /** Releases the slot of a request that had one, and starts waiting ones. */
  leave(owner: Account): void {
    const queue = this.#queueOf(owner);
    if (--queue.inFlight === 0) this.#owners--;
    queue.turn = ++this.#turn;
    this.#free++;
    queue.lease?.requestEnded();
    this.lease?.requestEnded();
    if (this.#waitingCount > 0) this.#startWaiting();
  }

  readonly #startWaiting = (): void => {
    for (let queue = this.#next(); queue !== undefined; queue = this.#next()) {
      const request = queue.requests.first as WaitingRequest;
      this.#remove(queue, request);
      // One of its requests that ended because the caller leaves has freed this slot.
      if (request.departure?.isCancelled === true) {
        request.rejected(request.departure.reason);
        continue;
      }
      this.#take(queue);
      queue.turn = ++this.#turn;
      request.started();
    }
    if (this.lease !== undefined) for (const queue of this.#waitingQueues) this.#requestMore(queue);
  };

  /** The owner that gets the next slot, among those that wait. */
  #next(): OwnerQueue | undefined {
    if (this.#free <= 0) return undefined;
    let first: OwnerQueue | undefined;
    for (const queue of this.#waitingQueues) {
      if (this.#mayTake(queue) && (first === undefined || isBefore(queue, first))) first = queue;
    }
    return first;
  }

  /** Slots that the owner may take beyond those that it has, if others leave them free. */
  #ownSlotsOf({ inFlight, lease, size }: OwnerQueue): number {
    return Math.max(0, (lease === undefined ? (this.#perOwner ?? Infinity) : size) - inFlight);
  }

  #requestMore(queue: OwnerQueue): void {
    if (this.#ownSlotsOf(queue) === 0) void queue.lease?.requestMore();
    if (this.#free <= 0) void this.lease?.requestMore();
  }

  #mayTake(queue: OwnerQueue): boolean {
    const { inFlight, owner } = queue;
    if (this.#options.hasOneOwner === true || owner === gatehouse) return this.#free > 0;
    if (this.#ownSlotsOf(queue) === 0) return false;
    if (this.lease !== undefined) return this.#free > 0;
    return inFlight < MAX_SHARE * this.#slots && inFlight < MAX_PER_FREE_SLOT * owner.weight * this.#free;
  }

  /**
   * Whether an owner may exceed the slots while more requests are in progress than there are slots, because these became
   * fewer: an owner without a slot need not wait for requests of others that may take long.
   */
  #mayExceed({ inFlight }: OwnerQueue): boolean {
    if (this.lease !== undefined || this.#options.hasOneOwner === true) return false;
    return this.#free < 0 && inFlight === 0 && this.#owners < this.#slots;
  }

  #take(queue: OwnerQueue): void {
    this.#free--;
    if (queue.inFlight++ === 0) this.#owners++;
  }

  #queueOf(given: Account): OwnerQueue {
    const owner = this.#perOwner === undefined ? given.payer : given;
    let queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, (queue = new OwnerQueue(owner, this.#startWaiting)));
    return queue;
  }

  #add(queue: OwnerQueue, request: WaitingRequest): void {
    if (queue.waiting === 0) {
      queue.place = this.#waitingQueues.push(queue) - 1;
      queue.turn = ++this.#turn;
    }
    queue.requests.push(request);
    queue.waiting++;
    this.#waitingCount++;
    this.#deadlines.add(request);
    request.departure?.add(request);
    this.#options.onQueued?.(1);
  }

  #remove(queue: OwnerQueue, request: WaitingRequest): void {
    request.isWaiting = false;
    queue.requests.remove(request);
    queue.waiting--;
    if (queue.waiting === 0) this.#stopWaiting(queue);
    this.#waitingCount--;
    this.#deadlines.delete(request);
    request.departure?.delete(request);
    this.#options.onQueued?.(-1);
  }

  /** The last one takes its place: the order is that of `turn`. */
  #stopWaiting({ place }: OwnerQueue): void {
    const last = this.#waitingQueues.pop() as OwnerQueue;
    if (place === this.#waitingQueues.length) return;
    this.#waitingQueues[place] = last;
    last.place = place;
  }

  #abandon(queue: OwnerQueue, request: WaitingRequest, reason: Error): void {
    if (!request.isWaiting) return;
    this.#remove(queue, request);
    request.rejected(reason);
  }
}

/** A request in the list of its owner, in the deadlines of its gate, and in its departure. */
class WaitingRequest implements Linked<WaitingRequest>, Timed, Departing {
  previous: WaitingRequest | undefined;
  next: WaitingRequest | undefined;
  isWaiting = true;
  deadlinePlace = -1;
  cancellationPlace = -1;
  readonly started: () => void;
  readonly rejected: (reason: Error) => void;
  readonly deadline: number;
  readonly departure: Departure | undefined;
  readonly #abandon: (reason: Error | undefined) => void;

  constructor(
    started: () => void,
    rejected: (reason: Error) => void,
    deadline: number,
    departure: Departure | undefined,
    abandon: (reason: Error | undefined) => void,
  ) {
    this.started = started;
    this.rejected = rejected;
    this.deadline = deadline;
    this.departure = departure;
    this.#abandon = abandon;
  }

  timeOut(): void {
    this.#abandon(undefined);
  }

  cancel(): void {
    this.#abandon(this.departure?.reason);
  }
}

function isBefore(queue: OwnerQueue, other: OwnerQueue): boolean {
  const difference = queue.slotsPerWeight - other.slotsPerWeight;
  return difference < 0 || (difference === 0 && queue.turn < other.turn);
}
