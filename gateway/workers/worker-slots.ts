import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import {
  GRANT_TOPIC,
  RECALL_TOPIC,
  REQUEST_TOPIC,
  RETURN_TOPIC,
  type GrantMessage,
  type RecallMessage,
  type RequestMessage,
  type ReturnMessage,
} from './machine-slots.ts';
import type { WorkerLink } from './worker-link.ts';

/** Slots beyond the share are returned if they are idle at two checks, so that others need not wait for a recall. */
const IDLE_CHECK_MS = 500;

/** The leases of one worker. While a pool has free slots, they exchange no messages. */
export class WorkerSlots implements SlotLeases {
  readonly #link: WorkerLink;
  /** Those that the primary knows, by id. */
  readonly #known = new Map<number, WorkerLease>();
  #lastId = 0;

  constructor(link: WorkerLink) {
    this.#link = link;
    link.on(GRANT_TOPIC, (message: GrantMessage) => {
      const { name, id, slots } = message;
      const lease = this.#known.get(id);
      if (lease !== undefined) lease.granted(message);
      else link.notify(RETURN_TOPIC, { name, id, slots, needed: 0 } satisfies ReturnMessage, 'primary');
    });
    link.on(RECALL_TOPIC, (message: RecallMessage) => {
      this.#known.get(message.id)?.recalled(message);
    });
    clock
      .setInterval(() => {
        for (const lease of this.#known.values()) lease.check();
      }, IDLE_CHECK_MS)
      .unref();
  }

  open(name: string, limit: number, pool: SlotPool): SlotLease {
    return new WorkerLease({ id: ++this.#lastId, name, pool, link: this.#link, known: this.#known }, limit);
  }
}

interface LeaseParts {
  readonly id: number;
  readonly name: string;
  readonly pool: SlotPool;
  readonly link: WorkerLink;
  readonly known: Map<number, WorkerLease>;
}

class WorkerLease implements SlotLease {
  held = 0;
  readonly #parts: LeaseParts;
  #limit: number;
  /** What each worker has of the slots if all need them. */
  #share = 0;
  /** Slots that other workers wait for, without those that are owed to them. */
  #wanted = 0;
  /** Until the primary responds. */
  #requesting: Promise<void> | undefined;
  /** The primary grants the next free slots without a further request. */
  #isWaiting = false;
  /** Idle slots at the latest check. */
  #idle = 0;

  constructor(parts: LeaseParts, limit: number) {
    this.#parts = parts;
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    if (limit === this.#limit) return;
    this.#limit = limit;
    const { known, id, pool } = this.#parts;
    if (known.has(id)) void this.#send(this.#isWaiting ? Math.max(1, pool.waiting) : pool.waiting);
  }

  requestMore(): Promise<void> | undefined {
    const { link, pool } = this.#parts;
    if (this.#isWaiting || !link.hasJoined) return this.#requesting;
    this.#requesting = this.#send(Math.max(1, pool.waiting)).then(() => {
      this.#requesting = undefined;
      this.#requestIfShort();
    });
    return this.#requesting;
  }

  requestEnded(): void {
    if (this.#wanted > 0 || this.held > this.#parts.pool.size) this.#return();
  }

  close(): void {
    this.#parts.pool.size = 0;
    this.#return();
  }

  granted({ slots, share }: GrantMessage): void {
    const { pool } = this.#parts;
    this.#isWaiting = false;
    this.#share = share;
    // What it owes is decided anew when a request ends. Two workers that paid each other would do so for ever.
    const owed = this.held - pool.size;
    this.#wanted += owed;
    // Before `held`: until now, tokens of a rate have returned for fewer slots.
    pool.size += slots + owed;
    this.held += slots;
    this.#requestIfShort();
  }

  /** Other workers wait for slots. */
  recalled({ slots, share }: RecallMessage): void {
    const { size, inFlight, waiting } = this.#parts.pool;
    this.#share = share;
    this.#wanted = Math.max(0, slots - (this.held - size));
    // Calls to an upstream that waited, and were granted slots, are about to take them.
    this.#return(waiting > 0 && inFlight < size ? size : share);
  }

  /** Returns what is idle, and tokens of a rate, which come back without `requestEnded`. */
  check(): void {
    this.requestEnded();
    const { pool } = this.#parts;
    const idle = pool.size - pool.inFlight;
    const returned = Math.min(idle, this.#idle, this.held - this.#share);
    this.#idle = idle;
    if (returned <= 0) return;
    pool.size -= returned;
    this.#return();
  }

  /**
   * Returns slots that others wait for: idle ones at once, and others as their requests end.
   * @param min used slots that it keeps
   */
  #return(min = this.#share): void {
    const { name, id, pool, link, known } = this.#parts;
    const used = pool.inFlight + pool.waiting;
    const kept = Math.max(Math.min(used, min), pool.size - this.#wanted);
    if (kept < pool.size) {
      this.#wanted -= pool.size - kept;
      pool.size = kept;
    }
    const slots = this.held - Math.max(pool.size, pool.inFlight);
    if (slots > 0) {
      this.held -= slots;
      if (pool.waiting === 0) this.#isWaiting = false;
      if (this.held === 0 && !this.#isWaiting) known.delete(id);
      const message: ReturnMessage = { name, id, slots, needed: this.#isWaiting ? Math.max(1, pool.waiting) : 0 };
      link.notify(RETURN_TOPIC, message, 'primary');
    }
    this.#requestIfShort();
  }

  #requestIfShort(): void {
    const { waiting, inFlight, size } = this.#parts.pool;
    if (waiting > 0 && inFlight >= size) void this.requestMore();
  }

  async #send(needed: number): Promise<void> {
    const { name, id, link, known } = this.#parts;
    known.set(id, this);
    this.#isWaiting = needed > 0;
    const message: RequestMessage = { name, id, limit: this.#limit, needed };
    await link.request('primary', REQUEST_TOPIC, message);
  }
}
