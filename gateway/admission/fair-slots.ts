import type { Holder } from '../memory/holder.ts';
import { LinkedList, type Linked } from '../collections/linked-list.ts';

/** The owner of a request: a key, an address, or Gatehouse itself. Requests of one object share its slots. */
export interface SlotOwner {
  /** Share of the slots, relative to that of others. Infinity: Gatehouse itself. */
  readonly weight: number;
  /** Whose share of the memory budget upstream responses use; undefined: Gatehouse itself. */
  readonly holder?: Holder;
}

/** Gatehouse's own requests, such as polls. They take any free slot, and wait for none before others that have fewer. */
export const gatehouse: SlotOwner = { weight: Infinity };

/** A request that waits for a slot. */
export interface Waiter extends Linked<Waiter> {
  /** Called once, when the request has its slot. */
  start(): void;
}

/** An owner may have this share of all slots, whatever its weight. */
const MAX_SHARE = 7 / 8;

/** An owner may take a slot while it has fewer than this many times the free slots, times its weight. */
const MAX_PER_FREE_SLOT = 7;

/** Level 31 is that of 2³⁰ slots. */
const LEVELS = 32;

/** The slots of one owner, and its waiting requests in order of arrival. */
class Flow implements Linked<Flow> {
  readonly owner: SlotOwner;
  readonly waiting = new LinkedList<Waiter>();
  waitingCount = 0;
  taken = 0;
  /** At the time when it was added to the waiting owners. */
  level = 0;
  previous: Flow | undefined;
  next: Flow | undefined;

  constructor(owner: SlotOwner) {
    this.owner = owner;
  }
}

/**
 * Shares a number of slots fairly. A free slot goes to a waiting owner with the fewest slots per weight, to those on one
 * level in turn. Some slots stay free for owners that have none, so that a request of theirs need not wait for another
 * one to end. Each operation takes the same number of steps for any number of owners and waiting requests.
 */
export class FairSlots {
  #slots: number;
  #free: number;
  readonly #hasOneOwner: boolean;
  readonly #flows = new WeakMap<SlotOwner, Flow>();
  /** Owners with waiting requests, by level. */
  readonly #waitingAt: LinkedList<Flow>[] = Array.from({ length: LEVELS }, () => new LinkedList<Flow>());
  /** A bit for each level with waiting owners. */
  #levels = 0;
  #isStarting = false;

  /** @param hasOneOwner no slots stay free for others */
  constructor(slots: number, hasOneOwner = false) {
    this.#slots = slots;
    this.#free = slots;
    this.#hasOneOwner = hasOneOwner;
  }

  /** Adds slots; a negative number removes them, as they become free. */
  resize(change: number): void {
    this.#slots += change;
    this.#free += change;
    this.#startWaiting();
  }

  /** Takes a slot for a request, which must `leave` at its end. @returns false if the request must wait */
  tryEnter(owner: SlotOwner): boolean {
    const flow = this.#flowOf(owner);
    if (flow.waiting.first !== undefined || !this.#mayTake(flow)) return false;
    this.#free--;
    flow.taken++;
    return true;
  }

  /** Adds a request to the waiting ones of its owner. `leave` starts it. */
  addWaiter(owner: SlotOwner, waiter: Waiter): void {
    const flow = this.#flowOf(owner);
    if (flow.waiting.first === undefined) this.#addFlow(flow);
    flow.waiting.push(waiter);
    flow.waitingCount++;
  }

  /** The number of waiting requests of an owner. */
  waitersOf(owner: SlotOwner): number {
    return this.#flows.get(owner)?.waitingCount ?? 0;
  }

  /** Removes a request that waits. */
  removeWaiter(owner: SlotOwner, waiter: Waiter): void {
    const flow = this.#flowOf(owner);
    flow.waiting.remove(waiter);
    flow.waitingCount--;
    if (flow.waiting.first === undefined) this.#removeFlow(flow);
  }

  /** Releases the slot of a request that had one, and starts waiting ones. */
  leave(owner: SlotOwner): void {
    const flow = this.#flows.get(owner) as Flow;
    const isWaiting = flow.waiting.first !== undefined;
    if (isWaiting) this.#removeFlow(flow);
    flow.taken--;
    if (isWaiting) this.#addFlow(flow);
    this.#free++;
    if (this.#levels !== 0) this.#startWaiting();
  }

  /** A request that starts may release its slot at once: the loop of the first call then continues. */
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    for (let flow = this.#nextFlow(); flow !== undefined && this.#mayTake(flow); flow = this.#nextFlow()) {
      const waiter = flow.waiting.first as Waiter;
      this.#removeFlow(flow);
      flow.waiting.remove(waiter);
      flow.waitingCount--;
      this.#free--;
      flow.taken++;
      if (flow.waiting.first !== undefined) this.#addFlow(flow);
      waiter.start();
    }
    this.#isStarting = false;
  }

  #mayTake({ taken, owner }: Flow): boolean {
    if (this.#hasOneOwner || owner === gatehouse) return this.#free > 0;
    return taken < MAX_SHARE * this.#slots && taken < MAX_PER_FREE_SLOT * owner.weight * this.#free;
  }

  /** Whether it may take no slot until one of its own requests ends, however many are free. */
  #hasMaximum({ taken, owner }: Flow): boolean {
    return !this.#hasOneOwner && owner !== gatehouse && taken >= MAX_SHARE * this.#slots;
  }

  #flowOf(owner: SlotOwner): Flow {
    let flow = this.#flows.get(owner);
    if (flow === undefined) this.#flows.set(owner, (flow = new Flow(owner)));
    return flow;
  }

  /** Undefined: none waits, or only one that has its maximum. That is more than half of the slots, so only one has it. */
  #nextFlow(): Flow | undefined {
    for (let levels = this.#levels; levels !== 0; levels &= levels - 1) {
      const first = this.#waitingAt[31 - Math.clz32(levels & -levels)]?.first;
      const flow = first !== undefined && this.#hasMaximum(first) ? first.next : first;
      if (flow !== undefined) return flow;
    }
    return undefined;
  }

  #addFlow(flow: Flow): void {
    flow.level = levelOf(flow.taken / flow.owner.weight);
    this.#waitingAt[flow.level]?.push(flow);
    this.#levels |= 1 << flow.level;
  }

  #removeFlow(flow: Flow): void {
    const { level } = flow;
    const list = this.#waitingAt[level];
    list?.remove(flow);
    if (list?.first === undefined) this.#levels &= ~(1 << level);
  }
}

/** 0 for no slots, 1 for one, 2 for two and three, 3 for four to seven, and so on. */
function levelOf(slots: number): number {
  return 32 - Math.clz32(slots);
}
