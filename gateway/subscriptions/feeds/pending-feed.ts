import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../config/max-entries.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';
import { openPendingStream, type PendingSource, type PendingStream } from './pending-stream.ts';

export interface PendingFeedOptions {
  /** Those of the moment, best first. */
  readonly sources: () => readonly PendingSource[];
  /** Undefined: it is gone again. Never rejects. */
  readonly fetchTransaction: (hash: string) => Promise<unknown>;
}

/** Before the upstreams are asked again, none of which could tell. */
const RETRY_DELAY_MS = 2_000;
/** So many hashes that were told are known: another upstream hears of them again. */
const MAX_DELIVERED_HASHES = 100_000;
/** Transactions that are fetched at once for those who want them whole. */
const MAX_CONCURRENT_FETCHES = 50;
/** That wait for it. */
const MAX_WAITING_HASHES = 1_000;

/**
 * Tells transactions that wait to be mined: the hashes, or the whole. One upstream is listened to for all, and another
 * when that one fails; each transaction is told once. What is sent to the network between the two may go untold, as it
 * does where a node is restarted.
 */
export class PendingFeed {
  readonly #parts: PendingFeedOptions;
  readonly #hashSubscribers = new Set<Subscriber>();
  readonly #fullSubscribers = new Set<Subscriber>();
  readonly #deliveredHashes = new LRUCache<string, true>(maxEntries(MAX_DELIVERED_HASHES));
  readonly #fetchQueue: string[] = [];
  #fetchesInProgress = 0;
  #stream: Promise<PendingStream> | undefined;
  /** A first one was opened, so that there are upstreams that tell. */
  #hasOpened = false;

  constructor(parts: PendingFeedOptions) {
    this.#parts = parts;
  }

  /** @throws RpcError (rejects with it) where no upstream tells of pending transactions */
  async join(listener: Subscriber, isFull: boolean): Promise<Unsubscribe> {
    const listeners = isFull ? this.#fullSubscribers : this.#hashSubscribers;
    listeners.add(listener);
    const unsubscribe = (): void => {
      listeners.delete(listener);
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

  get #hasSubscribers(): boolean {
    return this.#hashSubscribers.size + this.#fullSubscribers.size > 0;
  }

  #close(): void {
    this.#stream?.then(
      (stream) => {
        stream.close();
      },
      () => undefined,
    );
    this.#stream = undefined;
    this.#hasOpened = false;
  }

  /** @param failed the one that is asked last  @throws RpcError */
  async #open(failed?: PendingSource): Promise<PendingStream> {
    const rankOf = (source: PendingSource): number => (source === failed ? 2 : source.circuit.isClosed ? 0 : 1);
    for (const source of this.#parts.sources().toSorted((one, other) => rankOf(one) - rankOf(other))) {
      try {
        return await openPendingStream(source, {
          notified: (hashes) => {
            this.#handleHashes(hashes);
          },
          ended: () => {
            this.#stream = this.#reopen(source);
            this.#stream.catch(() => undefined); // nobody listens any more
          },
        });
      } catch {
        // It cannot tell; the next may.
      }
    }
    throw new RpcError('no-upstream', 'no upstream tells of pending transactions');
  }

  /** @throws RpcError (rejects with it) when nobody listens any more */
  async #reopen(failed: PendingSource): Promise<PendingStream> {
    for (;;) {
      try {
        return await this.#open(failed);
      } catch (error) {
        await sleep(RETRY_DELAY_MS, undefined, { ref: false });
        if (!this.#hasSubscribers) throw error;
      }
    }
  }

  #handleHashes(hashes: readonly string[]): void {
    const newHashes = [...new Set(hashes)].filter((hash) => !this.#deliveredHashes.has(hash));
    if (newHashes.length === 0) return;
    for (const hash of newHashes) this.#deliveredHashes.set(hash, true);
    const results = newHashes.map((hash) => JSON.stringify(hash));
    for (const listener of this.#hashSubscribers) listener.deliver(results);
    if (this.#fullSubscribers.size > 0) this.#fetch(newHashes);
  }

  /** Those that wait longest go untold where there are more than can be fetched. */
  #fetch(hashes: readonly string[]): void {
    this.#fetchQueue.push(...hashes);
    if (this.#fetchQueue.length > MAX_WAITING_HASHES)
      this.#fetchQueue.splice(0, this.#fetchQueue.length - MAX_WAITING_HASHES);
    while (this.#fetchesInProgress < MAX_CONCURRENT_FETCHES && this.#fetchQueue.length > this.#fetchesInProgress)
      void this.#deliverFull();
  }

  /** Never rejects. */
  async #deliverFull(): Promise<void> {
    this.#fetchesInProgress++;
    for (let hash = this.#fetchQueue.shift(); hash !== undefined; hash = this.#fetchQueue.shift()) {
      const transaction = await this.#parts.fetchTransaction(hash);
      if (transaction === undefined) continue;
      const results = [JSON.stringify(transaction)];
      for (const listener of this.#fullSubscribers) listener.deliver(results);
    }
    this.#fetchesInProgress--;
  }
}
