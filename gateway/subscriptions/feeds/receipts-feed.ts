import { clock } from '../../clock/clock.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Header } from '../../chain/header.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { LogSource } from './block-logs.ts';
import { BlockFeed, type AddedBlock } from './block-feed.ts';
import { fanOut } from './fan-out.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** Number of attempts, about 10 s, for a block whose receipts no upstream returns. Then subscribers get a gap. */
const MAX_ATTEMPTS = 10;
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
 * Delivers the receipts of each new block: one notification for each block that has matching ones; after a reorg, those of
 * the new branch. As in geth (eth/filters/api.go), nothing is delivered about removed blocks.
 */
export class ReceiptsFeed extends BlockFeed<readonly Receipt[]> {
  readonly #request: LogSource['request'];
  readonly #method: MethodSpec;
  readonly #owner: string;
  readonly #subscribers = new Map<Subscriber, Joined>();
  /**
   * @param method the method that requests the receipts of a block
   * @param owner whose event-loop time it is to find the receipts of a subscriber
   */
  constructor(chain: Pick<WatchedChain, 'watch'>, request: LogSource['request'], method: MethodSpec, owner: string) {
    super(chain, 1);
    this.#request = request;
    this.#method = method;
    this.#owner = owner;
  }

  join(subscriber: Subscriber, hashes: ReadonlySet<string>): Unsubscribe {
    this.#subscribers.set(subscriber, { hashes, afterBlock: this.addedBlocks });
    return this.joined(() => {
      this.#subscribers.delete(subscriber);
      return this.#subscribers.size;
    });
  }

  protected override subscribers(): Subscriber[] {
    return [...this.#subscribers.keys()];
  }

  protected override async deliver({ number }: AddedBlock, receipts: readonly Receipt[]): Promise<void> {
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

  protected override async fetch(
    { hash, block }: Header,
    isNeeded: () => boolean,
  ): Promise<readonly Receipt[] | undefined> {
    const { transactionsRoot } = block;
    if (transactionsRoot === NO_TRANSACTIONS) return [];
    // A node may return an empty list while it indexes the block.
    const hasTransactions = typeof transactionsRoot === 'string' && transactionsRoot !== NO_ROOT;
    for (let attempt = 0, delayMs = FIRST_RETRY_MS; attempt < MAX_ATTEMPTS && isNeeded(); attempt++) {
      const receipts = await this.#receiptsOf(hash);
      if (receipts !== undefined && (receipts.length > 0 || !hasTransactions)) return receipts;
      await clock.sleep(delayMs, { ref: false });
      delayMs = Math.min(2 * delayMs, MAX_RETRY_MS);
    }
    return undefined;
  }

  /** Receipts of a block; undefined: the attempt failed. */
  async #receiptsOf(hash: string): Promise<readonly Receipt[] | undefined> {
    try {
      const response = await this.#request(this.#method, [hash], clock.now() + REQUEST_TIMEOUT_MS);
      const parsed = response.kind === 'large' ? response.parse() : response;
      return parsed.kind === 'result' && Array.isArray(parsed.result) ? (parsed.result as Receipt[]) : undefined;
    } catch {
      // The router has counted and logged the upstream failures.
      return undefined;
    }
  }
}
