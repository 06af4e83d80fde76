import type { Header } from './header.ts';

/** Holds the promises of callers that wait for the next head. */
export class HeadWaiters {
  readonly #waiting = new Set<(head: Header | undefined) => void>();

  /** @returns undefined if no head is known within the timeout */
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

  /** @param head undefined: no head will come */
  resolveAll(head: Header | undefined): void {
    for (const done of this.#waiting) done(head);
  }
}
