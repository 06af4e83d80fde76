import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Longest delay of a timer. Node's timers fire at once if the delay is longer. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A timer that is set. Node's timers have these methods. */
export interface Timer {
  /** Lets the process end before the timer has fired. */
  unref(): this;
  /** Starts the time again. */
  refresh(): this;
}

/** Time and timers. The timer functions have the parameters of Node's functions with the same names. */
export interface Clock {
  /** Monotonic milliseconds, from an unspecified start. */
  now(): number;
  /** Monotonic milliseconds, the same in all processes of the machine. */
  machineMs(): number;
  /** Unix time in milliseconds. It jumps when the time of the machine is set. */
  unixMs(): number;
  /** CPU time of the process in milliseconds. */
  cpuMs(): number;
  setTimeout<Args extends unknown[]>(callback: (...args: Args) => void, ms: number, ...args: Args): Timer;
  clearTimeout(timer: Timer | undefined): void;
  setInterval(callback: () => void, ms: number): Timer;
  clearInterval(timer: Timer | undefined): void;
  setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void;
  /** @param options.ref false: lets the process end before @throws AbortError (rejects with it) after `signal` */
  sleep(ms: number, options?: SleepOptions): Promise<void>;
  /** Resolves in the next turn of the event loop. */
  nextTurn(): Promise<void>;
}

export interface SleepOptions {
  readonly ref?: boolean;
  readonly signal?: AbortSignal;
}

/** Calls the global functions of the moment, which tests may replace. */
const systemClock: Clock = {
  now: () => performance.now(),
  machineMs: () => Number(process.hrtime.bigint()) / 1e6,
  unixMs: () => Date.now(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  setTimeout: (callback, ms, ...args) => setTimeout(callback, ms, ...args),
  clearTimeout: (timer) => {
    clearTimeout(timer as NodeJS.Timeout | undefined);
  },
  setInterval: (callback, ms) => setInterval(callback, ms),
  clearInterval: (timer) => {
    clearInterval(timer as NodeJS.Timeout | undefined);
  },
  setImmediate: (callback, ...args) => {
    setImmediate(callback, ...args);
  },
  sleep: (ms, options) => sleep(ms, undefined, options),
  nextTurn: () => nextTurn(),
};

/** The time of the gateway. Nothing else in gateway/ reads a clock or sets a timer. */
export let clock = systemClock;

/** Replaces the clock of the process, for a simulation. To be called before parts of a gateway are constructed. */
export function installClock(replacement: Clock): void {
  clock = replacement;
}
