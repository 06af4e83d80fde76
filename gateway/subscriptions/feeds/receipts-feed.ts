import { clock } from '../../clock/clock.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { ChainChange } from '../../chain/header-ring.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Header } from '../../chain/header.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { LogSource } from './block-logs.ts';
import { fanOut } from './fan-out.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** Number of attempts, about 10 s, for a block whose receipts no upstream returns. Then subscribers get a gap. */
const MAX_ATTEMPTS = 10;
/** Limit of blocks that wait for their receipts. Above it, all subscribers get a gap. */
const MAX_WAITING_BLOCKS = 1_000;
/** The root of a trie without transactions. */
const NO_TRANSACTIONS = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
/** Root that says nothing about the transactions: on chains whose blocks have no such root. */
const NO_ROOT = `0x${'00'.repeat(32)}`;

interface Receipt {
  readonly transactionHash: string;
}

interface Joined {
  /** Transaction hashes in lower case; empty: all. */
  readonly hashes: ReadonlySet<string>;
  /** Blocks added before are not delivered. */
  readonly afterBlock: number;
}

/**
 * Delivers the receipts of each new block, fetched once for all subscribers: one notification for each block that has
 * matching ones; after a reorg, those of the new branch. As in geth (eth/filters/api.go), nothing is delivered about
 * removed blocks.
 */
export class ReceiptsFeed {
  readonly #chain: Pick<WatchedChain, 'watch'>;
  readonly #request: LogSource['request'];
  readonly #method: MethodSpec;
  readonly #owner: string;
  readonly #subscribers = new Map<Subscriber, Joined>();
  readonly #waiting: { readonly header: Header; readonly number: number }[] = [];
  #addedBlocks = 0;
  #isDelivering = false;
  #stopWatching: Unsubscribe | undefined;

  /**
   * @param method the method that requests the receipts of a block
   * @param owner whose event-loop time it is to find the receipts of a subscriber
   */
  constructor(chain: Pick<WatchedChain, 'watch'>, request: LogSource['request'], method: MethodSpec, owner: string) {
    this.#chain = chain;
    this.#request = request;
    this.#method = method;
    this.#owner = owner;
  }

  join(subscriber: Subscriber, hashes: ReadonlySet<string>): Unsubscribe {
    this.#subscribers.set(subscriber, { hashes, afterBlock: this.#addedBlocks });
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#handleChange(change);
    });
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
      this.#waiting.length = 0;
    };
  }

  #handleChange({ removed, added, hasGap, isOtherChain }: ChainChange): void {
    if (hasGap === true) {
      this.#reportGap(isOtherChain === true ? 'other-chain' : 'missed-blocks');
      return;
    }
    // Waiting blocks are the newest ones, and a reorg removes the newest first.
    for (const { hash } of removed) if (this.#waiting.at(-1)?.header.hash === hash) this.#waiting.pop();
    for (const header of added) this.#waiting.push({ header, number: ++this.#addedBlocks });
    if (this.#waiting.length > MAX_WAITING_BLOCKS) this.#reportGap();
    else if (!this.#isDelivering) void this.#deliverAll();
  }

  /** Delivers in the order of blocks. Never rejects. */
  async #deliverAll(): Promise<void> {
    this.#isDelivering = true;
    for (let block = this.#waiting[0]; block !== undefined; block = this.#waiting[0]) {
      const isNeeded = (): boolean => block === this.#waiting[0];
      const receipts = await this.#receiptsOf(block.header, isNeeded);
      if (!isNeeded()) continue;
      if (receipts === undefined) this.#reportGap();
      else {
        this.#waiting.shift();
        await this.#deliver(receipts, block.number);
      }
    }
    this.#isDelivering = false;
  }

  async #deliver(receipts: readonly Receipt[], number: number): Promise<void> {
    if (receipts.length === 0) return;
    let all: string | undefined;
    for (const [subscriber, { hashes, afterBlock }] of this.#subscribers) {
      if (number <= afterBlock) continue;
      if (hashes.size === 0) fanOut.deliver(subscriber, [(all ??= JSON.stringify(receipts))], number);
      else {
        const pause = turnBudget.next(this.#owner);
        if (pause !== undefined) await pause;
        const matching = turnBudget.run(this.#owner, () =>
          receipts.filter(({ transactionHash }) => hashes.has(transactionHash.toLowerCase())),
        );
        if (matching.length > 0) fanOut.deliver(subscriber, [JSON.stringify(matching)], number);
      }
    }
  }

  /** Undefined: no upstream returned them. */
  async #receiptsOf({ hash, block }: Header, isNeeded: () => boolean): Promise<readonly Receipt[] | undefined> {
    const { transactionsRoot } = block;
    if (transactionsRoot === NO_TRANSACTIONS) return [];
    // A node may return an empty list while it indexes the block.
    const hasTransactions = typeof transactionsRoot === 'string' && transactionsRoot !== NO_ROOT;
    for (let attempt = 0, delayMs = FIRST_RETRY_MS; attempt < MAX_ATTEMPTS && isNeeded(); attempt++) {
      const receipts = await this.#fetch(hash);
      if (receipts !== undefined && (receipts.length > 0 || !hasTransactions)) return receipts;
      await clock.sleep(delayMs, { ref: false });
      delayMs = Math.min(2 * delayMs, MAX_RETRY_MS);
    }
    return undefined;
  }

  /** Undefined: the attempt failed. */
  async #fetch(hash: string): Promise<readonly Receipt[] | undefined> {
    try {
      const response = await this.#request(this.#method, [hash], clock.now() + REQUEST_TIMEOUT_MS);
      const parsed = response.kind === 'large' ? response.parse() : response;
      return parsed.kind === 'result' && Array.isArray(parsed.result) ? (parsed.result as Receipt[]) : undefined;
    } catch {
      // The router has counted and logged the upstream failures.
      return undefined;
    }
  }

  #reportGap(reason: 'missed-blocks' | 'other-chain' = 'missed-blocks'): void {
    this.#waiting.length = 0;
    for (const subscriber of this.#subscribers.keys()) subscriber.markGap(reason);
  }
}
