import { makeId } from './subscription.ts';
import type { Unsubscribe, ChainListener } from './feeds/chain-listener.ts';
import type { SubscriptionParams } from './subscription-params.ts';

/** A filter that nobody asks for is dropped after this long: geth's (eth/filters/filter_system.go, `Timeout`). */
const IDLE_TIMEOUT_MS = 300_000;
const MAX_WAIT_MS = 300;
/** Characters that may wait. A hundred filters of a key with 400,000 each are 40 MB. */
const MAX_PENDING_CHARS = 400_000;

/** A subscription whose news wait until they are asked for. */
export class PolledFilter implements ChainListener {
  readonly id = makeId();
  readonly subscription: SubscriptionParams;
  /** The log filter as it was given; undefined for blocks and transactions. */
  readonly given: unknown;
  unsubscribe: Unsubscribe = () => undefined;
  readonly #drop: () => void;
  readonly #idle: NodeJS.Timeout;
  #pending: string[] = [];
  #length = 0;
  #wake: () => void = () => undefined;

  /** @param drop has the filter taken away: when it is idle, or cannot tell all */
  constructor(given: unknown, subscription: SubscriptionParams, drop: () => void) {
    this.given = subscription.kind === 'logs' ? given : undefined;
    this.subscription = subscription;
    this.#drop = drop;
    this.#idle = setTimeout(drop, IDLE_TIMEOUT_MS).unref();
  }

  /**
   * What came since it was last asked for, each as JSON text. Waits a little where nothing did: ethers asks when it has
   * just heard of a block, whose logs are asked of an upstream at that moment, and then not before the next block.
   */
  async take(): Promise<readonly string[]> {
    this.#idle.refresh();
    if (this.#pending.length === 0) await this.#waitForNews(MAX_WAIT_MS);
    const taken = this.#pending;
    this.#pending = [];
    this.#length = 0;
    return taken;
  }

  #waitForNews(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  notify(results: readonly string[]): void {
    for (const result of results) {
      // Of a block, a filter tells the hash only.
      const text = this.subscription.kind === 'newHeads' ? hashIn(result) : result;
      this.#length += text.length;
      this.#pending.push(text);
    }
    this.#wake();
    if (this.#length > MAX_PENDING_CHARS) this.#drop();
  }

  markGap(): void {
    this.#drop();
  }

  end(): void {
    clearTimeout(this.#idle);
    this.#pending = [];
    this.#wake();
    this.unsubscribe();
  }
}

function hashIn(header: string): string {
  return JSON.stringify((JSON.parse(header) as { hash: string }).hash);
}
