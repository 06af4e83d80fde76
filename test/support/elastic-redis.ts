import { Command } from 'ioredis';
import { elasticClock } from './elastic-clock.ts';

interface TimedCommand {
  readonly isSettled: boolean;
  readonly reject: (error: Error) => void;
  /** ioredis clears it when the command is settled. */
  _commandTimeoutTimer?: NodeJS.Timeout;
}

/**
 * Makes the time limits of Redis commands elastic. In a process that got no CPU for 500 ms, a timer of Node fires before the
 * response is read that has arrived, and Redis counts as unavailable.
 */
export function installElasticCommands(): void {
  Command.prototype.setTimeout = function (this: TimedCommand, ms: number) {
    const time = elasticClock();
    const deadline = time.now() + ms;
    const check = (): void => {
      if (this.isSettled) return;
      const leftMs = deadline - time.now();
      if (leftMs > 0) time.setTimeout(check, leftMs);
      else this.reject(new Error('Command timed out'));
    };
    this._commandTimeoutTimer ??= setTimeout(check, ms);
  } as unknown as typeof Command.prototype.setTimeout;
}
