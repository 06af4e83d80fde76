import { clock } from '../clock/clock.ts';
import type { MessageRouter } from './message-router.ts';

export const REQUEST_TOPIC = 'request-slots';
export const RETURN_TOPIC = 'return-slots';
export const GRANT_TOPIC = 'grant-slots';
export const RECALL_TOPIC = 'recall-slots';

/** A worker that does not respond for this time uses its slots, as far as others know. */
const MAX_RECALL_MS = 50;

/** From a worker that needs more slots, or whose limit has changed. */
export interface RequestMessage {
  readonly name: string;
  /** Of the lease, in its worker. */
  readonly id: number;
  readonly limit: number;
  /** How many its requests need beyond those that it has. */
  readonly needed: number;
}

export interface ReturnMessage {
  readonly name: string;
  readonly id: number;
  readonly slots: number;
  /** As in `RequestMessage`: a lease that has idle slots needs none. */
  readonly needed: number;
}

export interface GrantMessage {
  readonly name: string;
  readonly id: number;
  readonly slots: number;
  /** What each worker has if all need slots. */
  readonly share: number;
}

/** To a worker that has slots which others wait for. It responds after the message that returns those that it does not use. */
export interface RecallMessage {
  readonly id: number;
  readonly slots: number;
  readonly share: number;
}

/** A lease of one worker. */
interface LeasedSlots {
  readonly worker: number;
  readonly id: number;
  limit: number;
  held: number;
  needed: number;
  /** The place in the queue of those that need slots. */
  turn: number;
  /** Slots that were recalled from it, without those that it has returned since. */
  recalled: number;
}

/**
 * Leases slots to the workers of one machine, in its primary: under each name never more than the limit together. A worker gets
 * free slots, at least up to its share, then those that others do not use, then those that others have beyond their shares.
 */
export class MachineSlots {
  readonly #router: MessageRouter;
  readonly #workers: number;
  readonly #leases = new Map<string, LeasedSlots[]>();
  #lastTurn = 0;

  /** @param workers that share the slots */
  constructor(router: MessageRouter, workers: number) {
    this.#router = router;
    this.#workers = workers;
  }

  /** Serves the requests of workers. */
  serve(): void {
    this.#router.on(REQUEST_TOPIC, (message: RequestMessage, worker) => this.#requested(message, worker));
    this.#router.on(RETURN_TOPIC, (message: ReturnMessage, worker) => {
      const lease = this.#find(message.name, worker, message.id);
      if (lease !== undefined) void this.#returned(message.name, lease, message);
    });
    this.#router.onEnd((worker) => {
      this.#ended(worker);
    });
  }

  /** Resolves when the slots are granted, or all others have responded that they use theirs. */
  async #requested({ name, id, limit, needed }: RequestMessage, worker: number): Promise<void> {
    // A message of a worker that has ended.
    if (!this.#router.has(worker)) return;
    const lease = this.#find(name, worker, id) ?? this.#add(name, worker, id);
    if (lease.needed === 0) lease.turn = ++this.#lastTurn;
    [lease.limit, lease.needed] = [limit, needed];
    // All respond again to what is recalled: they may use fewer slots than before.
    for (const other of this.#leases.get(name) ?? []) other.recalled = 0;
    await this.#lease(name);
  }

  async #returned(name: string, lease: LeasedSlots, { slots, needed }: ReturnMessage): Promise<void> {
    lease.held -= slots;
    lease.needed = Math.min(lease.needed, needed);
    lease.recalled = Math.max(0, lease.recalled - slots);
    if (lease.held === 0 && lease.needed === 0) this.#keep(name, (other) => other !== lease);
    await this.#lease(name);
  }

  #ended(worker: number): void {
    for (const [name, leases] of this.#leases) {
      if (!leases.some((lease) => lease.worker === worker)) continue;
      this.#keep(name, (lease) => lease.worker !== worker);
      void this.#lease(name);
    }
  }

  /** Grants the free slots, and recalls more if these are too few. */
  async #lease(name: string): Promise<void> {
    const leases = this.#leases.get(name) ?? [];
    const limit = Math.min(...leases.map((lease) => lease.limit));
    const share = Math.floor(limit / this.#workers);
    let free = limit - sumOf(leases, ({ held }) => held);
    const waiting = leases.filter(({ needed }) => needed > 0).sort((a, b) => a.held - b.held || a.turn - b.turn);
    for (const lease of waiting) {
      if (free <= 0) break;
      const slots = Math.min(free, Math.max(lease.needed, share - lease.held));
      free -= slots;
      lease.held += slots;
      lease.needed = 0;
      const message: GrantMessage = { name, id: lease.id, slots, share };
      this.#router.notify(lease.worker, GRANT_TOPIC, message);
    }
    // Below 0 after a limit became lower.
    const wanted = sumOf(leases, ({ needed }) => needed) - Math.min(0, free);
    const recalled = leases.filter(({ held, needed, recalled }) => held > 0 && wanted - needed > recalled);
    await Promise.all(recalled.map((lease) => this.#recall(lease, wanted - lease.needed, share)));
  }

  async #recall(lease: LeasedSlots, slots: number, share: number): Promise<void> {
    lease.recalled = slots;
    const message: RecallMessage = { id: lease.id, slots, share };
    await Promise.race([this.#router.request(lease.worker, RECALL_TOPIC, message), clock.sleep(MAX_RECALL_MS)]);
  }

  #find(name: string, worker: number, id: number): LeasedSlots | undefined {
    return this.#leases.get(name)?.find((lease) => lease.worker === worker && lease.id === id);
  }

  #add(name: string, worker: number, id: number): LeasedSlots {
    const lease = { worker, id, limit: 0, held: 0, needed: 0, turn: 0, recalled: 0 };
    this.#leases.set(name, [...(this.#leases.get(name) ?? []), lease]);
    return lease;
  }

  #keep(name: string, isKept: (lease: LeasedSlots) => boolean): void {
    const kept = (this.#leases.get(name) ?? []).filter(isKept);
    if (kept.length === 0) this.#leases.delete(name);
    else this.#leases.set(name, kept);
  }
}

function sumOf(leases: readonly LeasedSlots[], valueOf: (lease: LeasedSlots) => number): number {
  return leases.reduce((sum, lease) => sum + valueOf(lease), 0);
}
