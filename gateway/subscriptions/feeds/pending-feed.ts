import { LRUCache } from 'lru-cache';
import type { Feed } from '../../chain/poller.ts';
import { clock } from '../../clock/clock.ts';
import { maxEntries } from '../../config/max-entries.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { fanOut } from './fan-out.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';
import { openPendingStream, type PendingSource } from './pending-stream.ts';

export interface PendingFeedOptions {
  /** The current upstreams that are not drained, best first. */
  readonly sources: () => readonly PendingSource[];
  /** The transaction as JSON text. Undefined: no upstream has it any more. Never rejects. */
  readonly fetchTransaction: (hash: string) => Promise<string | undefined>;
}

/** A stream that is open, and its upstream. */
interface OpenStream {
  readonly source: PendingSource;
  readonly stream: Feed;
}

/** Delay after all upstreams failed to open a stream. */
const RETRY_DELAY_MS = 2_000;
/** Delivered hashes to remember: after a failover, the next upstream reports some of them again. */
const MAX_DELIVERED_HASHES = 100_000;
/** Concurrent requests for full transactions. */
const MAX_CONCURRENT_FETCHES = 50;
/** Limit of hashes that wait for a request. */
const MAX_WAITING_HASHES = 1_000;

/**
 * Delivers pending transactions, as hashes or in full, each once. One upstream streams them for all subscribers; when it
 * fails, another takes over. Transactions that reach the network during this failover may be lost, as at a node restart.
 */
export class PendingFeed {
  readonly #parts: PendingFeedOptions;
  readonly #hashSubscribers = new Set<Subscriber>();
  readonly #fullSubscribers = new Set<Subscriber>();
  readonly #deliveredHashes = new LRUCache<string, true>(maxEntries(MAX_DELIVERED_HASHES));
  readonly #fetchQueue: string[] = [];
  #fetchesInProgress = 0;
  #stream: Promise<OpenStream> | undefined;
  /** A stream was opened, so at least one upstream supports pending transactions. */
  #hasOpened = false;

  constructor(parts: PendingFeedOptions) {
    this.#parts = parts;
  }

  /** @throws RpcError (rejects with it) if no upstream provides pending transactions */
  async join(subscriber: Subscriber, isFull: boolean): Promise<Unsubscribe> {
    const subscribers = isFull ? this.#fullSubscribers : this.#hashSubscribers;
    subscribers.add(subscriber);
    const unsubscribe = (): void => {
      subscribers.delete(subscriber);
      if (!this.#hasSubscribers) this.#close();
    };
    try {
      this.#stream ??= this.#open();
      if (!this.#hasOpened) await this.#stream;
      this.#hasOpened = true;
      return unsubscribe;
    } catch (error) {
      unsubscribe();
      throw error;
    }
  }

  /** Continues with another upstream if that of the stream is drained or removed. */
  followSources(): void {
    const opening = this.#stream;
    opening?.then(
      ({ source, stream }) => {
        if (this.#stream !== opening || this.#parts.sources().includes(source)) return;
        stream.close();
        this.#replaceStream(source);
      },
      () => undefined,
    );
  }

  get #hasSubscribers(): boolean {
    return this.#hashSubscribers.size + this.#fullSubscribers.size > 0;
  }

  #close(): void {
    this.#stream?.then(
      ({ stream }) => {
        stream.close();
      },
      () => undefined,
    );
    this.#stream = undefined;
    this.#hasOpened = false;
  }

  /** @param failed the upstream to try last  @throws RpcError */
  async #open(failed?: PendingSource): Promise<OpenStream> {
    const rankOf = (source: PendingSource): number => (source === failed ? 2 : source.circuit.isClosed ? 0 : 1);
    for (const source of this.#parts.sources().toSorted((one, other) => rankOf(one) - rankOf(other))) {
      try {
        const stream = await openPendingStream(source, {
          notified: (hashes) => {
            this.#handleHashes(hashes);
          },
          ended: () => {
            this.#replaceStream(source);
            if (!source.isOnOtherChain) return;
            for (const subscribers of [this.#hashSubscribers, this.#fullSubscribers])
              for (const subscriber of subscribers) subscriber.markGap('other-chain');
          },
        });
        return { source, stream };
      } catch {
        // Try the next upstream.
      }
    }
    throw new RpcError('no-upstream', 'no upstream provides pending transactions');
  }

  /** @param left the upstream of the stream that has ended */
  #replaceStream(left: PendingSource): void {
    this.#stream = this.#reopen(left);
    this.#stream.catch(() => undefined); // rejects only without subscribers
  }

  /** Retries until a stream opens. @throws RpcError (rejects with it) when there are no subscribers any more */
  async #reopen(failed: PendingSource): Promise<OpenStream> {
    for (;;) {
      try {
        return await this.#open(failed);
      } catch (error) {
        await clock.sleep(RETRY_DELAY_MS, { ref: false });
        if (!this.#hasSubscribers) throw error;
      }
    }
  }

  #handleHashes(hashes: readonly string[]): void {
    const newHashes = [...new Set(hashes)].filter((hash) => !this.#deliveredHashes.has(hash));
    if (newHashes.length === 0) return;
    for (const hash of newHashes) this.#deliveredHashes.set(hash, true);
    const results = newHashes.map((hash) => JSON.stringify(hash));
    for (const subscriber of this.#hashSubscribers) fanOut.deliver(subscriber, results);
    if (this.#fullSubscribers.size > 0) this.#fetch(newHashes);
  }

  /** Discards the oldest hashes above `MAX_WAITING_HASHES`. */
  #fetch(hashes: readonly string[]): void {
    this.#fetchQueue.push(...hashes);
    if (this.#fetchQueue.length > MAX_WAITING_HASHES)
      this.#fetchQueue.splice(0, this.#fetchQueue.length - MAX_WAITING_HASHES);
    while (this.#fetchesInProgress < MAX_CONCURRENT_FETCHES && this.#fetchQueue.length > this.#fetchesInProgress)
      void this.#deliverFull();
  }

  /** Delivers full transactions, and never rejects. */
  async #deliverFull(): Promise<void> {
    this.#fetchesInProgress++;
    for (let hash = this.#fetchQueue.shift(); hash !== undefined; hash = this.#fetchQueue.shift()) {
      const transaction = await this.#parts.fetchTransaction(hash);
      if (transaction === undefined) continue;
      const results = [transaction];
      for (const subscriber of this.#fullSubscribers) fanOut.deliver(subscriber, results);
    }
    this.#fetchesInProgress--;
  }
}
