import type { Log } from './log.ts';

/** The values of LOG_LEVEL, most severe first. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Changes the level of a log and of its children at run time. A child of pino has a level of its own. */
export class LogLevel {
  readonly #log: Log;
  readonly #children = new Set<WeakRef<Log>>();

  readonly #onChange: (level: string) => void;

  /** @param log without children yet @param onChange sends the level to the primary */
  constructor(log: Log, onChange: (level: string) => void = () => undefined) {
    this.#log = log;
    this.#onChange = onChange;
    log.onChild = (child) => {
      for (const known of this.#children) if (known.deref() === undefined) this.#children.delete(known);
      this.#children.add(new WeakRef(child));
    };
  }

  get current(): string {
    return this.#log.level;
  }

  /** The line about the change is logged at any level. @param by who changes it */
  set(level: string, by: string): void {
    const from = this.#log.level;
    this.#log.level = 'info';
    this.#log.info({ from, to: level, by }, 'log level changed');
    this.apply(level);
    this.#onChange(level);
  }

  /** Applies the level that an operator has set at any worker. */
  apply(level: string): void {
    this.#log.level = level;
    for (const child of this.#children) {
      const log = child.deref();
      if (log !== undefined) log.level = level;
    }
  }
}
