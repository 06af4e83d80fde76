import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import type { MessageRouter } from './message-router.ts';

export const USE_TOPIC = 'slots-used';
export const SHARE_TOPIC = 'slots-share';

/** A worker that does not respond for this time uses its slots, as far as others know. */
const MAX_WAIT_MS = 50;

/** What a worker needs, and what it returns. */
export interface UseMessage {
  readonly name: string;
  /** Id of the lease, in its worker. */
  readonly id: number;
  readonly limit: number;
  /** Whether other gateways have the limit too. */
  readonly isShared: boolean;
  /** Requests in flight, and those that wait. */
  readonly needed: number;
  readonly returned: number;
  readonly isClosed: boolean;
  /** Rises with each message: a response is handled after messages that were sent later. */
  readonly sequence: number;
}

/** What a worker gets. Its response is a `UseMessage`. */
export interface ShareMessage {
  readonly name: string;
  readonly id: number;
  readonly granted: number;
  /** Slots that it may keep while its requests wait. */
  readonly share: number;
  /** Whether others need what it does not use. */
  readonly isShort: boolean;
}

/** The lease of one worker. A worker may have another one of the same name, which it opened after a reload. */
interface Part {
  readonly worker: number;
  readonly id: number;
  sequence: number;
  isClosed: boolean;
  limit: number;
  isShared: boolean;
  needed: number;
  held: number;
  /** Rises with each grant. */
  turn: number;
  share: number;
  isShort: boolean;
}

/** Slots of one name. */
class MachinePool implements SlotPool {
  /** Leases by worker and id. */
  readonly parts = new Map<string, Part>();
  readonly name: string;
  /** Lease of the slots that other gateways do not have; undefined: this is the only one. */
  readonly lease: SlotLease | undefined;
  readonly #slots: MachineSlots;
  #size = Infinity;

  constructor(name: string, slots: MachineSlots, gateways: SlotLeases | undefined) {
    this.name = name;
    this.#slots = slots;
    this.lease = gateways?.open(name, Infinity, this);
  }

  get size(): number {
    return this.#size;
  }

  set size(slots: number) {
    if (slots === this.#size) return;
    this.#size = slots;
    void this.#slots.divide(this);
  }

  /** Slots that workers have: they may use all. */
  get inFlight(): number {
    return sumOf([...this.parts.values()], ({ held }) => held);
  }

  get waiting(): number {
    return sumOf([...this.parts.values()], ({ needed, held }) => Math.max(0, needed - held));
  }
}

/**
 * Divides slots among the workers of one machine, in its primary. Shares follow from what all workers need, computed again after
 * each message; a worker that needs less than its share leaves the rest to the others. So the workers never have more than the
 * limit together, and no message needs to be remembered.
 */
export class MachineSlots {
  readonly #router: MessageRouter;
  readonly #workers: number;
  readonly #gateways: SlotLeases | undefined;
  readonly #pools = new Map<string, MachinePool>();
  #lastTurn = 0;

  /** @param workers that share the slots  @param gateways leases of limits that other gateways have too; undefined: none has */
  constructor(router: MessageRouter, workers: number, gateways?: SlotLeases) {
    this.#router = router;
    this.#workers = workers;
    this.#gateways = gateways;
  }

  /** Serves the requests of workers. */
  serve(): void {
    this.#router.on(USE_TOPIC, (message: UseMessage, worker) => this.#used(message, worker));
    this.#router.onEnd((worker) => {
      for (const pool of this.#pools.values()) {
        const ended = [...pool.parts].filter(([, part]) => part.worker === worker);
        for (const [key] of ended) pool.parts.delete(key);
        if (ended.length > 0) void this.divide(pool);
      }
    });
  }

  /** Resolves when the lease has its share, or all others have responded that they use theirs. */
  async #used({ name, id, returned, ...state }: UseMessage, worker: number): Promise<void> {
    if (!this.#router.has(worker)) return;
    const pool = this.#pools.get(name) ?? new MachinePool(name, this, this.#gateways);
    this.#pools.set(name, pool);
    const { parts } = pool;
    const key = `${worker}/${id}`;
    const part = parts.get(key) ?? { ...state, worker, id, held: 0, turn: 0, share: 0, isShort: false };
    part.held -= returned;
    if (state.sequence > part.sequence) Object.assign(part, state);
    if (part.held + part.needed === 0 && part.isClosed) parts.delete(key);
    else parts.set(key, part);
    await this.divide(pool);
    if (pool.waiting > 0) await pool.lease?.requestMore();
  }

  /** Divides the slots of a pool again. Resolves when all workers have responded, after 50 ms at most. */
  async divide(pool: MachinePool): Promise<void> {
    const { name, parts } = pool;
    if (parts.size === 0) {
      pool.lease?.close();
      // Another pool of the name may have begun: the lease of this one still sets its size.
      if (this.#pools.get(name) === pool) this.#pools.delete(name);
      return;
    }
    const isShared = [...parts.values()].some((lease) => lease.isShared);
    const ofAll = Math.min(...[...parts.values()].map((lease) => lease.limit));
    pool.lease?.setLimit(ofAll, isShared);
    const limit = Math.min(ofAll, pool.size);
    // What a lease needs less than an equal share is for those after it. Fewer slots than leases are used in turn.
    const leases = [...parts.values()].sort(
      (one, other) =>
        Math.min(one.needed, limit) - Math.min(other.needed, limit) ||
        (limit < parts.size ? one.turn - other.turn : other.held - one.held),
    );
    let undivided = limit;
    const divided = leases.map((lease, index) => {
      const share = Math.min(lease.needed, Math.ceil(undivided / (leases.length - index)));
      undivided -= share;
      return { lease, share, lack: Math.max(0, share - lease.held) };
    });
    let free = limit - sumOf(leases, ({ held }) => held);
    let lacking = sumOf(divided, ({ lack }) => lack);
    const isShort = lacking > free || divided.some(({ lease, share }) => lease.needed > share);
    const responses: Promise<void>[] = [];
    for (const { lease, share, lack } of divided) {
      // While no other needs them, a lease has as many as each worker would have. Other gateways may need them.
      const spare =
        lease.needed === 0 || isShared ? 0 : Math.min(free - lacking, Math.floor(limit / this.#workers) - lease.held);
      const granted = Math.max(0, Math.min(free, Math.max(lack, spare)));
      lacking -= lack;
      free -= granted;
      lease.held += granted;
      if (granted > 0) lease.turn = ++this.#lastTurn;
      else if (lease.share === share && lease.isShort === isShort) continue;
      Object.assign(lease, { share, isShort });
      responses.push(this.#send(lease, { name, id: lease.id, granted, share, isShort }));
    }
    if (responses.length > 0) await Promise.race([Promise.all(responses), clock.sleep(MAX_WAIT_MS)]);
  }

  async #send({ worker }: Part, message: ShareMessage): Promise<void> {
    const use = (await this.#router.request(worker, SHARE_TOPIC, message)) as UseMessage | undefined;
    if (use !== undefined) await this.#used(use, worker);
  }
}

function sumOf<Each>(all: readonly Each[], valueOf: (each: Each) => number): number {
  return all.reduce((sum, each) => sum + valueOf(each), 0);
}
