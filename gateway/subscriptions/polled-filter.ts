import { makeId } from './subscription.ts';
import type { Unsubscribe, Subscriber } from './feeds/subscriber.ts';
import type { SubscriptionParams } from './subscription-params.ts';

/** A filter that nobody asks for is dropped after this long: geth's (eth/filters/filter_system.go, `Timeout`). */
const IDLE_TIMEOUT_MS = 300_000;
const MAX_WAIT_MS = 300;
/** Characters that may wait. A hundred filters of a key with 400,000 each are 40 MB. */
const MAX_PENDING_CHARS = 400_000;

/** A subscription whose news wait until they are asked for. */
export class PolledFilter implements Subscriber {
  readonly id = makeId();
  readonly subscription: SubscriptionParams;
  /** The log filter as it was given; undefined for blocks and transactions. */
  readonly filterParams: unknown;
  unsubscribe: Unsubscribe = () => undefined;
  readonly #remove: () => void;
  readonly #idleTimer: NodeJS.Timeout;
  #pending: string[] = [];
  #pendingChars = 0;
  #wake: () => void = () => undefined;

  /** @param drop has the filter taken away: when it is idle, or cannot tell all */
  constructor(given: unknown, subscription: SubscriptionParams, drop: () => void) {
    this.filterParams = subscription.kind === 'logs' ? given : undefined;
    this.subscription = subscription;
    this.#remove = drop;
    this.#idleTimer = setTimeout(drop, IDLE_TIMEOUT_MS).unref();
  }

  /**
   * What came since it was last asked for, each as JSON text. Waits a little where nothing did: ethers asks when it has
   * just heard of a block, whose logs are asked of an upstream at that moment, and then not before the next block.
   */
  async takeResults(): Promise<readonly string[]> {
    this.#idleTimer.refresh();
    if (this.#pending.length === 0) await this.#waitForResults(MAX_WAIT_MS);
    const taken = this.#pending;
    this.#pending = [];
    this.#pendingChars = 0;
    return taken;
  }

  #waitForResults(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  deliver(results: readonly string[]): void {
    for (const result of results) {
      // Of a block, a filter tells the hash only.
      const text = this.subscription.kind === 'newHeads' ? hashIn(result) : result;
      this.#pendingChars += text.length;
      this.#pending.push(text);
    }
    this.#wake();
    if (this.#pendingChars > MAX_PENDING_CHARS) this.#remove();
  }

  markGap(): void {
    this.#remove();
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    this.#pending = [];
    this.#wake();
    this.unsubscribe();
  }
}

function hashIn(header: string): string {
  return JSON.stringify((JSON.parse(header) as { hash: string }).hash);
}
