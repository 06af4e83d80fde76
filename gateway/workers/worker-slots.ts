import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import { SHARE_TOPIC, USE_TOPIC, type ShareMessage, type UseMessage } from './machine-slots.ts';
import type { WorkerLink } from './worker-link.ts';

/** Slots beyond an equal share are returned if they are idle at two checks, so that others need not wait for them. */
const IDLE_CHECK_MS = 500;

/** The leases of one worker. While a pool has free slots, they exchange no messages. */
export class WorkerSlots implements SlotLeases {
  readonly #link: WorkerLink;
  readonly #hasGateways: boolean;
  /** Leases that the primary knows, by id. */
  readonly #known = new Map<number, WorkerLease>();
  #lastId = 0;

  /** @param hasGateways whether the primary shares limits with other gateways */
  constructor(link: WorkerLink, hasGateways = false) {
    this.#link = link;
    this.#hasGateways = hasGateways;
    link.on(SHARE_TOPIC, (message: ShareMessage): UseMessage => {
      const { name, id, granted: returned } = message;
      // A closed lease does not need what was on its way.
      return this.#known.get(id)?.shared(message) ?? noneNeeded(name, id, returned);
    });
    clock
      .setInterval(() => {
        for (const lease of this.#known.values()) lease.check();
      }, IDLE_CHECK_MS)
      .unref();
  }

  open(name: string, limit: number, pool: SlotPool): SlotLease {
    const [link, known, hasGateways] = [this.#link, this.#known, this.#hasGateways];
    return new WorkerLease({ id: ++this.#lastId, name, pool, link, known, hasGateways }, limit);
  }
}

interface LeaseParts {
  readonly id: number;
  readonly name: string;
  readonly pool: SlotPool;
  readonly link: WorkerLink;
  readonly known: Map<number, WorkerLease>;
  readonly hasGateways: boolean;
}

class WorkerLease implements SlotLease {
  readonly #parts: LeaseParts;
  #limit: number;
  /** Whether other gateways have the limit too. */
  #isShared = false;
  /** Slots that it may keep while its requests wait. */
  #share = 0;
  /** Whether others need what it does not use. */
  #isShort = false;
  /** Slots that it needs, as far as the primary knows. */
  #reported = 0;
  /** The request for slots, until the primary responds. */
  #requesting: Promise<void> | undefined;
  #sequence = 0;
  #isClosed = false;
  /** Whether it is closed when it has no requests, because its limit has changed. */
  #isIdleClosed = false;
  /** Idle slots at the latest check. */
  #idle = 0;

  constructor(parts: LeaseParts, limit: number) {
    this.#parts = parts;
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  setLimit(limit: number, isShared = false): void {
    const isNowShared = isShared && this.#parts.hasGateways;
    if (limit === this.#limit && isNowShared === this.#isShared) return;
    [this.#limit, this.#isShared] = [limit, isNowShared];
    if (!this.#parts.known.has(this.#parts.id)) return;
    // The limit that a worker without requests knows may soon be a former one: others would keep it.
    this.#isIdleClosed = true;
    if (!this.#closeIfIdle()) this.#return(0);
  }

  requestMore(): Promise<void> | undefined {
    const { id, pool, link, known } = this.#parts;
    // Requests that wait beyond the limit cost no message.
    const needed = Math.min(pool.inFlight + Math.max(1, pool.waiting), this.#limit);
    if (needed <= this.#reported || !link.hasJoined) return this.#requesting;
    known.set(id, this);
    this.#isClosed = false;
    const requesting = link.request('primary', USE_TOPIC, this.#use(needed, 0)).then(() => {
      if (this.#requesting === requesting) this.#requesting = undefined;
    });
    return (this.#requesting = requesting);
  }

  requestEnded(): void {
    const returned = this.#isShort ? this.#unused : 0;
    if (returned > 0) this.#return(returned);
  }

  #closeIfIdle(): boolean {
    const { inFlight, waiting } = this.#parts.pool;
    if (!this.#isIdleClosed || inFlight + waiting > 0) return false;
    this.close();
    return true;
  }

  close(): void {
    this.#isIdleClosed = false;
    if (!this.#parts.known.has(this.#parts.id)) return;
    [this.#share, this.#isShort, this.#isClosed] = [0, true, true];
    this.#return(this.#unused);
  }

  /** Takes slots. @returns what the lease needs then, and the slots that it returns to others */
  shared({ granted, share, isShort }: ShareMessage): UseMessage {
    const { pool } = this.#parts;
    [this.#share, this.#isShort] = [share, isShort || this.#isClosed];
    // What it needs is in the response.
    this.#reported = Infinity;
    pool.size += granted;
    const returned = isShort && pool.waiting === 0 ? this.#unused : 0;
    pool.size -= returned;
    return this.#use(pool.inFlight + pool.waiting, returned);
  }

  /** Returns what is idle, also after requests that have left while they waited. */
  check(): void {
    if (this.#closeIfIdle()) return;
    this.requestEnded();
    const { id, pool, link, known } = this.#parts;
    if (this.#isClosed && pool.size === 0) known.delete(id);
    // Other gateways may have all that this one does not use.
    const kept = this.#isShared ? 0 : Math.floor(this.#limit / link.count);
    const idle = Math.min(this.#idle, this.#unused, pool.size - kept);
    this.#idle = this.#unused;
    if (idle > 0) this.#return(idle);
  }

  /** Slots that others may have. Calls to an upstream that waited are about to take those that they got. */
  get #unused(): number {
    const { size, inFlight, waiting } = this.#parts.pool;
    const idle = Math.max(0, size - inFlight);
    return waiting === 0 ? idle : Math.min(idle, 1, Math.max(0, size - this.#share));
  }

  #return(returned: number): void {
    const { pool, link } = this.#parts;
    pool.size -= returned;
    const needed = pool.inFlight + pool.waiting;
    link.notify(USE_TOPIC, this.#use(needed, returned), 'primary');
  }

  #use(needed: number, returned: number): UseMessage {
    const { name, id } = this.#parts;
    this.#reported = needed;
    const [limit, isShared, isClosed, sequence] = [this.#limit, this.#isShared, this.#isClosed, ++this.#sequence];
    return { name, id, limit, isShared, needed, returned, isClosed, sequence };
  }
}

function noneNeeded(name: string, id: number, returned: number): UseMessage {
  const none = { limit: Infinity, isShared: false, needed: 0, isClosed: true, sequence: Infinity };
  return { ...none, name, id, returned };
}
