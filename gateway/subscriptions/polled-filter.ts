import { makeId } from './subscription.ts';
import type { Leave, Listener } from './listener.ts';
import type { Wish } from './read-wish.ts';

/** A filter that nobody asks for is dropped after this long: geth's (eth/filters/filter_system.go, `Timeout`). */
const IDLE_MS = 300_000;
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

  /** @param drop has the filter taken away: when it is idle, or cannot tell all */
  constructor(given: unknown, wish: Wish, drop: () => void) {
    this.given = wish.kind === 'logs' ? given : undefined;
    this.wish = wish;
    this.#drop = drop;
    this.#idle = setTimeout(drop, IDLE_MS).unref();
  }

  /** What came since it was last asked for, each as JSON text. */
  take(): readonly string[] {
    this.#idle.refresh();
    const taken = this.#held;
    this.#held = [];
    this.#length = 0;
    return taken;
  }

  tell(results: readonly string[]): void {
    for (const result of results) {
      // Of a block, a filter tells the hash only.
      const text = this.wish.kind === 'newHeads' ? hashIn(result) : result;
      this.#length += text.length;
      this.#held.push(text);
    }
    if (this.#length > HELD_MAX) this.#drop();
  }

  lose(): void {
    this.#drop();
  }

  end(): void {
    clearTimeout(this.#idle);
    this.#held = [];
    this.leave();
  }
}

function hashIn(header: string): string {
  return JSON.stringify((JSON.parse(header) as { hash: string }).hash);
}
