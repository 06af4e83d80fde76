import { setImmediate as realTurn } from 'node:timers/promises';
import type { Clock, SleepOptions, Timer } from '../../gateway/clock/clock.ts';

/** An arbitrary start above the times that modules read while they were loaded. */
const STARTED_AT_MS = 100_000_000;
/** Step of `advanceUntil`. */
const STEP_MS = 1_000;

/**
 * A clock that stands still until `advance` moves it. Timers fire in the order of their times, those with equal times in the
 * order in which they were set. All microtasks run before the next timer fires, so work between two timers takes no time.
 */
export class SimulatedClock implements Clock {
  #now: number;
  readonly #unixOffsetMs: number;
  readonly #timers = new TimerQueue();
  #immediates: (() => void)[] = [];
  #count = 0;

  /** @param unixMs the Unix time at the start, in milliseconds @param now the monotonic time at the start */
  constructor(unixMs = Date.UTC(2026, 0, 1), now = STARTED_AT_MS) {
    this.#now = now;
    this.#unixOffsetMs = unixMs - now;
  }

  now(): number {
    return this.time;
  }

  /** The time from which timers count, also in tests that replace `now`. */
  protected get time(): number {
    return this.#now;
  }

  machineMs(): number {
    return this.now();
  }

  unixMs(): number {
    return this.#now + this.#unixOffsetMs;
  }

  /** Work takes no time. */
  cpuMs(): number {
    return 0;
  }

  setTimeout<Args extends unknown[]>(callback: (...args: Args) => void, ms: number, ...args: Args): Timer {
    return this.#set(() => {
      callback(...args);
    }, ms);
  }

  clearTimeout(timer: Timer | undefined): void {
    if (timer instanceof SimulatedTimer) this.#timers.delete(timer);
  }

  setInterval(callback: () => void, ms: number): Timer {
    const timer = this.#set(() => {
      // Before the callback, which may clear it.
      timer.refresh();
      callback();
    }, ms);
    return timer;
  }

  clearInterval(timer: Timer | undefined): void {
    this.clearTimeout(timer);
  }

  setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void {
    this.#immediates.push(() => {
      callback(...args);
    });
  }

  sleep(ms: number, { signal }: SleepOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = this.#set(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, ms);
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.setImmediate(resolve);
    });
  }

  /** Moves the time if no timer is due by then. @returns whether it has */
  protected moveIdle(time: number): boolean {
    if ((this.#timers.first?.dueAt ?? Infinity) <= time) return false;
    this.#now = Math.max(this.#now, time);
    return true;
  }

  /** Moves the time, and runs all that becomes due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.#runTurns();
    for (;;) {
      const timer = this.#timers.takeUntil(end);
      if (timer === undefined) break;
      this.#now = Math.max(this.#now, timer.dueAt);
      timer.fire();
      await this.#runTurns();
    }
    this.#now = end;
  }

  /** Moves the time until the work has ended. @returns its result @throws its error (rejects with it) */
  async advanceUntil<Result>(work: Promise<Result>): Promise<Result> {
    const state: { hasEnded: boolean } = { hasEnded: false };
    const end = (): void => {
      state.hasEnded = true;
    };
    work.then(end, end);
    while (!state.hasEnded) await this.advance(STEP_MS);
    return work;
  }

  /** Turns of the event loop, until nothing waits for one. A real turn runs all microtasks. */
  async #runTurns(): Promise<void> {
    await realTurn();
    while (this.#immediates.length > 0) {
      const due = this.#immediates;
      this.#immediates = [];
      for (const run of due) run();
      await realTurn();
    }
  }

  #set(fire: () => void, ms: number): SimulatedTimer {
    // Node has the same minimum.
    const delayMs = ms >= 1 ? Math.floor(ms) : 1;
    const timer = new SimulatedTimer(fire, () => {
      timer.dueAt = this.time + delayMs;
      timer.number = this.#count++;
      this.#timers.add(timer);
    });
    return timer.refresh();
  }
}

class SimulatedTimer implements Timer {
  dueAt = Infinity;
  number = 0;
  /** Place in the queue; -1: it is not set. */
  place = -1;
  readonly fire: () => void;
  readonly #start: () => void;

  constructor(fire: () => void, start: () => void) {
    this.fire = fire;
    this.#start = start;
  }

  unref(): this {
    return this;
  }

  refresh(): this {
    this.#start();
    return this;
  }

  isBefore(other: SimulatedTimer): boolean {
    return this.dueAt < other.dueAt || (this.dueAt === other.dueAt && this.number < other.number);
  }
}

/** A binary heap whose timers know their places. */
class TimerQueue {
  readonly #heap: SimulatedTimer[] = [];

  /** Adds a timer, or moves one whose time has changed. */
  add(timer: SimulatedTimer): void {
    this.delete(timer);
    this.#rise(timer, this.#heap.length);
  }

  delete(timer: SimulatedTimer): void {
    const { place } = timer;
    if (place === -1) return;
    timer.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === timer) return;
    this.#rise(last, place);
    this.#sink(last);
  }

  get first(): SimulatedTimer | undefined {
    return this.#heap[0];
  }

  /** Takes the first timer that is due by then. */
  takeUntil(time: number): SimulatedTimer | undefined {
    const { first } = this;
    if (first === undefined || first.dueAt > time) return undefined;
    this.delete(first);
    return first;
  }

  #rise(timer: SimulatedTimer, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = this.#heap[(place - 1) >> 1];
      if (parent === undefined || !timer.isBefore(parent)) break;
      this.#put(parent, place);
      place = (place - 1) >> 1;
    }
    this.#put(timer, place);
  }

  #sink(timer: SimulatedTimer): void {
    let { place } = timer;
    for (;;) {
      const [left, right] = [this.#heap[2 * place + 1], this.#heap[2 * place + 2]];
      const child = left !== undefined && right?.isBefore(left) === true ? right : left;
      if (child === undefined || !child.isBefore(timer)) break;
      const childPlace = child.place;
      this.#put(child, place);
      place = childPlace;
    }
    this.#put(timer, place);
  }

  #put(timer: SimulatedTimer, place: number): void {
    this.#heap[place] = timer;
    timer.place = place;
  }
}
