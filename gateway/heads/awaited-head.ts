import type { Header } from './header.ts';

/** Those who wait for the head to be known. */
export class HeadWaiters {
  readonly #waiting = new Set<(head: Header | undefined) => void>();

  /** @returns undefined when nothing was told in that time */
  wait(timeoutMs: number): Promise<Header | undefined> {
    return new Promise((resolve) => {
      const done = (head: Header | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve(head);
      };
      const timer = setTimeout(done, timeoutMs, undefined);
      this.#waiting.add(done);
    });
  }

  /** @param head undefined: there will be none */
  resolveAll(head: Header | undefined): void {
    for (const done of this.#waiting) done(head);
  }
}
