import { clock } from '../clock/clock.ts';

/** Event-loop time of all metered work in one turn. Work that has begun by then is completed. */
const TURN_MS = 3;
/** Time constant by which what an owner has used is forgotten. */
const MEMORY_MS = 1_000;
/** An owner is alone if no other one was charged for this time. */
const ALONE_AFTER_MS = 1_000;
/** Longest rest of an owner after a long piece of its work. */
export const MAX_REST_MS = 2_000;
/** Reading the CPU time of the process in each turn would be 5 % of a cache hit, and 7 % of a call at 300 per second. */
const CPU_READ_INTERVAL_MS = 20;

/** Account of one key, client address or upstream: the time that it has used lately, and its work that waits. */
interface Owner {
  /** Event-loop time that counts, at `usedAt`. */
  usedMs: number;
  usedAt: number;
  /** No work of the owner begins before, unless it is alone: a long piece of its work has delayed all others. */
  restsUntil: number;
  readonly waiting: (() => void)[];
}

/** Calls a function after the step in progress: the next tick runs after all its microtasks. */
function callAfterStep(callback: () => void): void {
  queueMicrotask(() => {
    process.nextTick(callback);
  });
}

/**
 * Shares the time of the event loop over owners: a key, else a client address, else an upstream. Metered work stops after
 * 3 ms of a turn, and goes on in the next turn: first that of the owner which has used the least lately. A piece of work
 * that takes longer makes its owner rest for the excess, if there are other owners. So a light owner waits for a turn, and
 * not for what a heavy one has sent.
 */
export class TurnBudget {
  readonly #callAfterStep: typeof callAfterStep;
  readonly #owners = new Map<string, Owner>();
  /** Owners with work that waits. */
  readonly #waiting = new Set<Owner>();
  /** Time used in the current turn. */
  #usedMs = 0;
  /** Whether `#onTurn` is due, which ends the turn. */
  #hasBegun = false;
  /** CPU time of the process at `#cpuReadAt`. No piece of work takes more than what was added since: other programs ran meanwhile. */
  #cpuMs = 0;
  #cpuReadAt = -Infinity;
  #servesUntil = 0;
  /** Time when a turn with metered work last began. */
  beganAt = -Infinity;
  /** Owner whose work was resumed, and is not charged yet. */
  #served: Owner | undefined;
  #timerAt = Infinity;
  #latest: Owner | undefined;
  /** Time when another owner than the latest one was charged. */
  #otherAt = -Infinity;
  #sweptAt = -Infinity;

  /** @param afterStep for tests */
  constructor(afterStep = callAfterStep) {
    this.#callAfterStep = afterStep;
  }

  /** Accounts event-loop time that work has taken, where it ends. */
  charge(name: string, cpuMs: number, now = clock.now()): void {
    this.begin();
    this.#usedMs += cpuMs;
    const owner = this.#ownerOf(name, now);
    if (owner !== this.#latest) {
      if (this.#latest !== undefined) this.#otherAt = now;
      this.#latest = owner;
    }
    owner.usedMs = usedBy(owner, now) + cpuMs;
    owner.usedAt = now;
    if (owner === this.#served) this.#served = undefined;
    if (cpuMs > TURN_MS) {
      const read = clock.cpuMs();
      const excess = Math.min(cpuMs, read - this.#cpuMs) - TURN_MS;
      [this.#cpuMs, this.#cpuReadAt] = [read, now];
      const rest = Math.max(owner.restsUntil, now) + Math.max(0, excess);
      owner.restsUntil = Math.min(rest, now + MAX_REST_MS);
    }
    if (now - this.#sweptAt > MEMORY_MS) this.#sweep(now);
  }

  /** Whether work of an owner may begin now. Otherwise it must `wait`, so that it stays behind its earlier work. */
  mayRun(name: string): boolean {
    this.begin();
    const owner = this.#owners.get(name);
    // Also if its usual turn is after that of other work of its owner: it has waited.
    if (owner !== undefined && owner === this.#served) return true;
    if (this.#usedMs >= TURN_MS) return false;
    if (owner === undefined) return true;
    if (owner.waiting.length > 0) return false;
    if (this.#waiting.size === 0 && owner.restsUntil === -Infinity) return true;
    const now = clock.now();
    if (owner.restsUntil > now && this.#mustRest(owner, now)) return false;
    if (this.#waiting.size === 0) return true;
    const used = usedBy(owner, now);
    for (const other of this.#waiting) if (!this.#mustRest(other, now) && usedBy(other, now) <= used) return false;
    return true;
  }

  /** Calls `resume` when work of the owner may begin: the work up to the next check, which then is charged. */
  wait(name: string, resume: () => void): void {
    const owner = this.#ownerOf(name, clock.now());
    owner.waiting.push(resume);
    this.#waiting.add(owner);
    this.begin();
  }

  /** Waits before a piece of work if needed. @returns undefined to continue at once, or a promise to await first */
  next(name: string): Promise<void> | undefined {
    if (this.mayRun(name)) return undefined;
    return new Promise((resolve) => {
      this.wait(name, resolve);
    });
  }

  /** Runs a piece of work now, and charges it. */
  run<T>(name: string, work: () => T): T {
    if (!this.#hasBegun) this.begin();
    const startedAt = clock.now();
    try {
      return work();
    } finally {
      const now = clock.now();
      this.charge(name, now - startedAt, now);
    }
  }

  /** Event-loop time that an owner has used lately. 1,000 ms: all of it. */
  usedMs(name: string): number {
    const owner = this.#owners.get(name);
    return owner === undefined ? 0 : usedBy(owner, clock.now());
  }

  /** Begins work that is charged where it ends: it may be the first of its turn. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const now = (this.beganAt = clock.now());
    if (now - this.#cpuReadAt > CPU_READ_INTERVAL_MS) [this.#cpuMs, this.#cpuReadAt] = [clock.cpuMs(), now];
    clock.setImmediate(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#hasBegun = false;
    this.#usedMs = 0;
    if (this.#waiting.size === 0) return;
    this.#servesUntil = clock.now() + TURN_MS;
    this.#serve();
  };

  /** Resumes the work of one owner. The next one follows when that step has been charged. */
  readonly #serve = (): void => {
    this.#served = undefined;
    const now = clock.now();
    let first: Owner | undefined;
    let firstUsed = Infinity;
    let restsUntil = Infinity;
    for (const owner of this.#waiting) {
      const used = usedBy(owner, now);
      if (this.#mustRest(owner, now)) restsUntil = Math.min(restsUntil, owner.restsUntil);
      else if (first === undefined || used < firstUsed) [first, firstUsed] = [owner, used];
    }
    if (first === undefined) {
      this.#serveAt(restsUntil, now);
      return;
    }
    this.begin();
    // The time of work without an owner counts too.
    if (this.#usedMs >= TURN_MS || now >= this.#servesUntil) return;
    const resume = first.waiting.shift();
    this.#waiting.delete(first);
    // Those with equal use take turns.
    if (first.waiting.length > 0) this.#waiting.add(first);
    this.#callAfterStep(this.#serve);
    this.#served = first;
    resume?.();
  };

  /** Serves at a time, because all that waits must rest: one timer in place of a turn after the other. */
  #serveAt(at: number, now: number): void {
    // One that is overdue may be of a clock that was replaced.
    const isSet = this.#timerAt > now && this.#timerAt <= at;
    if (isSet || at === Infinity) return;
    this.#timerAt = at;
    const restMs = Math.max(1, Math.ceil(at - now));
    clock
      .setTimeout(() => {
        this.#timerAt = Infinity;
        this.begin();
      }, restMs)
      .unref();
  }

  #mustRest({ restsUntil }: Owner, now: number): boolean {
    return restsUntil > now && now - this.#otherAt < ALONE_AFTER_MS;
  }

  #ownerOf(name: string, now: number): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      owner = { usedMs: 0, usedAt: now, restsUntil: -Infinity, waiting: [] };
      this.#owners.set(name, owner);
    }
    return owner;
  }

  /** Forgets owners that have used nothing lately. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [name, owner] of this.#owners) {
      const isIdle = owner.waiting.length === 0 && owner.restsUntil <= now && usedBy(owner, now) < 0.01;
      if (isIdle) this.#owners.delete(name);
    }
  }
}

function usedBy({ usedMs, usedAt }: Owner, now: number): number {
  return usedMs * Math.exp((usedAt - now) / MEMORY_MS);
}

/** One instance for the process, because the process has one event loop. */
export const turnBudget = new TurnBudget();
