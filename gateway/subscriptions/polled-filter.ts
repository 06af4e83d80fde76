import { makeId } from './subscription.ts';
import type { Leave, Listener } from './listener.ts';
import type { Wish } from './read-wish.ts';

/** A filter that nobody asks for is dropped after this long: geth's (eth/filters/filter_system.go, `Timeout`). */
const IDLE_MS = 300_000;
const WAIT_MS = 300;
/** Characters that may wait. A hundred filters of a key with 400,000 each are 40 MB. */
const HELD_MAX = 400_000;

/** A subscription whose news wait until they are asked for. */
export class PolledFilter implements Listener {
  readonly id = makeId();
  readonly wish: Wish;
  /** The log filter as it was given; undefined for blocks and transactions. */
  readonly given: unknown;
  leave: Leave = () => undefined;
  readonly #drop: () => void;
  readonly #idle: NodeJS.Timeout;
  #held: string[] = [];
  #length = 0;
  #wake: () => void = () => undefined;

  /** @param drop has the filter taken away: when it is idle, or cannot tell all */
  constructor(given: unknown, wish: Wish, drop: () => void) {
    this.given = wish.kind === 'logs' ? given : undefined;
    this.wish = wish;
    this.#drop = drop;
    this.#idle = setTimeout(drop, IDLE_MS).unref();
  }

  /**
   * What came since it was last asked for, each as JSON text. Waits a little where nothing did: ethers asks when it has
   * just heard of a block, whose logs are asked of an upstream at that moment, and then not before the next block.
   */
  async take(): Promise<readonly string[]> {
    this.#idle.refresh();
    if (this.#held.length === 0) await this.#newsOr(WAIT_MS);
    const taken = this.#held;
    this.#held = [];
    this.#length = 0;
    return taken;
  }

  #newsOr(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  tell(results: readonly string[]): void {
    for (const result of results) {
      // Of a block, a filter tells the hash only.
      const text = this.wish.kind === 'newHeads' ? hashIn(result) : result;
      this.#length += text.length;
      this.#held.push(text);
    }
    this.#wake();
    if (this.#length > HELD_MAX) this.#drop();
  }

  lose(): void {
    this.#drop();
  }

  end(): void {
    clearTimeout(this.#idle);
    this.#held = [];
    this.#wake();
    this.leave();
  }
}

function hashIn(header: string): string {
  return JSON.stringify((JSON.parse(header) as { hash: string }).hash);
}
