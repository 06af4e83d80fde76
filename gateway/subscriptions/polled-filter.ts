import { clock, type Timer } from '../clock/clock.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { VerifyLevel } from '../network-files/options/verify-option.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { makeId } from './subscription.ts';
import type { Unsubscribe, Subscriber } from './feeds/subscriber.ts';
import type { SubscriptionParams } from './subscription-params.ts';
import { knownMembers, type FilterParams } from '../chain/logs/log-filter.ts';

/** A filter that is not polled for this long is removed. geth has the same timeout (eth/filters/filter_system.go, `Timeout`). */
const IDLE_TIMEOUT_MS = 300_000;
/** Longest wait for the logs of a new block. */
const MAX_WAIT_MS = 300;
/** Limit of buffered characters. A hundred filters of a key with 400,000 each are 40 MB. */
const MAX_PENDING_CHARS = 400_000;

type FilterMemory = Pick<Reservation, 'take' | 'giveBack'>;

/** Buffers the results of one subscription until the caller polls them. */
export class PolledFilter implements Subscriber {
  readonly id: string;
  /** Name of the turns of its account. */
  owner: string | undefined;
  /** How far is proven what it returns. */
  level: VerifyLevel = 'off';
  /** Name of its account. */
  account: string | undefined;
  readonly subscription: SubscriptionParams;
  /** Parameters of a log filter, for a request for all its logs; undefined for blocks and transactions. */
  readonly filterParams: FilterParams | undefined;
  unsubscribe: Unsubscribe = () => undefined;
  /** Releases what was accounted for the filter itself. */
  release: () => void = () => undefined;
  readonly #remove: () => void;
  readonly #memory: FilterMemory | undefined;
  readonly #idleTimer: Timer;
  #pending: string[] = [];
  #pendingChars = 0;
  isClosed = false;
  #wake: () => void = () => undefined;

  /**
   * @param remove removes the filter: when it is idle, when it has a gap, or when its buffer or the memory budget is full
   * @param worker its id is at the end of the id of the filter
   */
  constructor(
    filterParams: FilterParams,
    subscription: SubscriptionParams,
    memory: FilterMemory | undefined,
    remove: () => void,
    worker?: number,
  ) {
    this.id = worker === undefined ? makeId() : withWorker(makeId(), worker);
    this.filterParams = subscription.kind === 'logs' ? knownMembers(filterParams) : undefined;
    this.subscription = subscription;
    this.#memory = memory;
    this.#remove = remove;
    this.#idleTimer = clock.setTimeout(remove, IDLE_TIMEOUT_MS).unref();
  }

  /**
   * Returns the results since the last poll, each as JSON text. An empty buffer waits up to `MAX_WAIT_MS` for a delivery in
   * progress: ethers polls right after each new block, when the gateway is still fetching its logs, and not again before the
   * next block.
   * @param delivery resolves when all blocks are delivered; undefined: they are
   */
  async takeResults(delivery: Promise<unknown> | undefined): Promise<readonly string[]> {
    this.#idleTimer.refresh();
    if (this.#pending.length === 0 && delivery !== undefined) await this.#waitForResults(delivery);
    return this.#takePending();
  }

  #takePending(): readonly string[] {
    const taken = this.#pending;
    this.#memory?.giveBack(this.#pendingChars);
    this.#pending = [];
    this.#pendingChars = 0;
    return taken;
  }

  #waitForResults(delivery: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, MAX_WAIT_MS);
      const wake = (): void => {
        clock.clearTimeout(timer);
        resolve();
      };
      this.#wake = wake;
      void delivery.then(wake);
    });
  }

  deliver(results: readonly string[]): void {
    if (this.isClosed) return;
    // Block filters return hashes, not headers.
    const texts = this.subscription.kind === 'newHeads' ? results.map(hashIn) : results;
    const chars = texts.reduce((sum, { length }) => sum + length, 0);
    if (this.#pendingChars + chars > MAX_PENDING_CHARS || !this.#reserve(chars)) {
      this.#remove();
      return;
    }
    // Taking the bytes may have removed the filter, to free memory.
    if (this.#isGone()) {
      this.#memory?.giveBack(chars);
      return;
    }
    this.#pending.push(...texts);
    this.#pendingChars += chars;
    this.#wake();
  }

  /** Whether the filter is gone. It is a call, because the compiler takes a member that it has seen as false for false. */
  #isGone(): boolean {
    return this.isClosed;
  }

  #reserve(bytes: number): boolean {
    try {
      this.#memory?.take(bytes);
      return true;
    } catch (error) {
      if (error instanceof RpcError) return false;
      throw error;
    }
  }

  markGap(): void {
    this.#remove();
  }

  close(): void {
    this.isClosed = true;
    clock.clearTimeout(this.#idleTimer);
    this.#takePending();
    this.#wake();
    this.unsubscribe();
    this.release();
  }
}

/** Digits of a filter id that name its worker. Ids of workers are not used again, so that a later one is hardly in it. */
const WORKER_DIGITS = 4;
const WORKERS = 16 ** WORKER_DIGITS;

function withWorker(id: string, worker: number): string {
  return id.slice(0, -WORKER_DIGITS) + (worker % WORKERS).toString(16).padStart(WORKER_DIGITS, '0');
}

/** The worker of a filter. */
export function workerIn(id: string): number {
  return parseInt(id.slice(-WORKER_DIGITS), 16);
}

function hashIn(header: string): string {
  return JSON.stringify((JSON.parse(header) as { hash: string }).hash);
}
