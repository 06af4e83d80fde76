import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { tracked } from '../support/child-processes.ts';

/** A program of processes/, compiled by `npm run test:all -- abuse`. */
export class AbuseProcess {
  readonly #child: ChildProcess;

  constructor(name: 'attacker' | 'upstream', args: readonly string[] = []) {
    this.#child = tracked(fork(join(packageRoot, `dist/test/abuse/processes/${name}.js`), args, { stdio: 'inherit' }));
  }

  /** The next message of the program. Rejects if it ends instead. */
  async message(): Promise<unknown> {
    const ended = new AbortController();
    const { signal } = ended;
    try {
      return await Promise.race([
        once(this.#child, 'message', { signal }).then(([message]) => message as unknown),
        once(this.#child, 'exit', { signal }).then(([code]) => {
          throw new Error(`the process has ended with ${String(code)}`);
        }),
      ]);
    } finally {
      ended.abort();
    }
  }

  send(message: object | string): void {
    this.#child.send(message);
  }

  /** Attackers are other machines: they must not take the CPU from the gateway. */
  lowerPriority(): void {
    const { pid } = this.#child;
    if (pid !== undefined) setPriority(pid, Math.min(19, getPriority() + 10));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}
