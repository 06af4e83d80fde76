import { setImmediate as realTurn } from 'node:timers/promises';
import { clock, installClock } from '../../gateway/clock/clock.ts';
import { MAX_REST_MS } from '../../gateway/event-loop/turn-budget.ts';
import { SimulatedClock } from './simulated-clock.ts';

const TICK_MS = 10;
/** The time of a tick in which the process had no CPU. */
const MAX_TICK_MS = 20;
/** The CPU time is read from the system once in this time: on a busy machine ticks are late, and each `now` needs it. */
const CPU_READ_MS = 1;

/** Functions of Node.js, also in tests that replace the global ones. */
const { setInterval, clearInterval } = globalThis;
const systemClock = clock;
const realNow = performance.now.bind(performance);

/**
 * The time of a gateway with sockets in the test's process. It follows real time in ticks, between which the event loop runs.
 * A tick is at most 20 ms and the CPU time of the process: if the process gets no CPU for a second, 20 ms pass. Timers fire
 * from ticks only, in the order of their times. So a deadline passes only if what it limits had its turns. Unix time and turns
 * of the event loop are real.
 */
export class ElasticClock extends SimulatedClock {
  #readAt = realNow();
  #cpuReadMs = this.cpuMs();
  /** Real time and CPU time of the latest reading. */
  #cpu = { at: this.#readAt, ms: this.#cpuReadMs };
  /** The time at `#readAt`. Timers reach it a few turns later. */
  #base = this.#readAt;
  #latest = this.#readAt;
  #ticks: ReturnType<typeof setInterval> | undefined;
  #moving: Promise<void> = Promise.resolve();
  /** Movements that have not ended. */
  #movements = 0;
  #isTickWaiting = false;

  constructor() {
    super(Date.now(), realNow());
    this.run();
  }

  protected override get time(): number {
    // A timer that is late fires at its own time, which may be before what was read.
    return (this.#latest = Math.max(this.#latest, super.time, this.#base + this.#passedMs()));
  }

  override unixMs(): number {
    return Date.now();
  }

  override cpuMs(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }

  override setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void {
    setImmediate(callback, ...args);
  }

  override async nextTurn(): Promise<void> {
    await realTurn();
  }

  /** Moves the time beyond the real one. */
  override advance(ms: number): Promise<void> {
    return this.#move(async () => {
      await super.advance(ms);
      this.#base += ms;
    });
  }

  /** The time follows real time. */
  run(): void {
    if (this.#ticks !== undefined) return;
    this.#read();
    this.#ticks = setInterval(() => void this.#tick(), TICK_MS).unref();
  }

  /** The time stands still, except for `advance`. */
  stop(): void {
    this.#read();
    if (this.#ticks !== undefined) clearInterval(this.#ticks);
    this.#ticks = undefined;
  }

  async #tick(): Promise<void> {
    if (this.#isTickWaiting) return;
    this.#isTickWaiting = true;
    try {
      this.#read();
      // Most ticks fire nothing.
      if (this.#movements === 0 && this.moveIdle(this.#base)) return;
      await this.#move(() => super.advance(Math.max(0, this.#base - super.time)));
    } finally {
      this.#isTickWaiting = false;
    }
  }

  /** One movement after the other. */
  #move(movement: () => Promise<void>): Promise<void> {
    this.#movements++;
    this.#moving = this.#moving
      .catch(() => undefined)
      .then(movement)
      .finally(() => this.#movements--);
    return this.#moving;
  }

  #read(): void {
    this.#base = this.time;
    this.#readAt = realNow();
    this.#cpuReadMs = this.cpuMs();
  }

  /** Time since the last tick. */
  #passedMs(): number {
    if (this.#ticks === undefined) return 0;
    const realMs = realNow() - this.#readAt;
    if (realMs <= MAX_TICK_MS) return realMs;
    if (realNow() - this.#cpu.at > CPU_READ_MS) this.#cpu = { at: realNow(), ms: this.cpuMs() };
    return Math.min(realMs, MAX_TICK_MS + Math.max(0, this.#cpu.ms - this.#cpuReadMs));
  }
}

let opened: ElasticClock | undefined;

/** The one of this process. */
export function elasticClock(): ElasticClock {
  opened ??= new ElasticClock();
  return opened;
}

/** Puts it below the gateway. */
export function installElasticClock(): void {
  elasticClock().run();
  installClock(elasticClock());
}

/**
 * Runs work while the time stands still: no timer of the gateway fires, so that the work ends only if it waits for none. Before,
 * rests of the event loop's owners end. While the time stands still, no work is long enough for another one.
 */
export function withoutTime<Result>(work: () => Promise<Result>): Promise<Result> {
  return whileStopped(async () => {
    await elasticClock().advance(MAX_REST_MS);
    return work();
  });
}

/**
 * The same for a gateway that waits for Redis or another process: the rests of up to 2 s pass in real time, so that no command
 * times out.
 */
export async function withoutTimeBesideRedis<Result>(work: () => Promise<Result>): Promise<Result> {
  await elasticClock().sleep(MAX_REST_MS);
  return whileStopped(work);
}

async function whileStopped<Result>(work: () => Promise<Result>): Promise<Result> {
  elasticClock().stop();
  try {
    return await work();
  } finally {
    elasticClock().run();
  }
}

/** Clock for the rest of the file: what the file shows depends on the time of Redis or of another process. */
export function installSystemClock(): void {
  installClock(systemClock);
}
