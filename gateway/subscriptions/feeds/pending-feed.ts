import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../config/max-entries.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { Unsubscribe, ChainListener } from './chain-listener.ts';
import { openPendingStream, type PendingSource, type PendingStream } from './pending-stream.ts';

export interface PendingFeedOptions {
  /** Those of the moment, best first. */
  readonly sources: () => readonly PendingSource[];
  /** Undefined: it is gone again. Never rejects. */
  readonly transactionOf: (hash: string) => Promise<unknown>;
}

/** Before the upstreams are asked again, none of which could tell. */
const RETRY_DELAY_MS = 2_000;
/** So many hashes that were told are known: another upstream hears of them again. */
const MAX_KNOWN = 100_000;
/** Transactions that are fetched at once for those who want them whole. */
const MAX_CONCURRENT_FETCHES = 50;
/** That wait for it. */
const MAX_WAITING = 1_000;

/**
 * Tells transactions that wait to be mined: the hashes, or the whole. One upstream is listened to for all, and another
 * when that one fails; each transaction is told once. What is sent to the network between the two may go untold, as it
 * does where a node is restarted.
 */
export class PendingFeed {
  readonly #parts: PendingFeedOptions;
  readonly #hashListeners = new Set<ChainListener>();
  readonly #fullListeners = new Set<ChainListener>();
  readonly #known = new LRUCache<string, true>(maxEntries(MAX_KNOWN));
  readonly #toFetch: string[] = [];
  #fetching = 0;
  #stream: Promise<PendingStream> | undefined;
  /** A first one was opened, so that there are upstreams that tell. */
  #hasOpened = false;

  constructor(parts: PendingFeedOptions) {
    this.#parts = parts;
  }

  /** @throws RpcError (rejects with it) where no upstream tells of pending transactions */
  async join(listener: ChainListener, isFull: boolean): Promise<Unsubscribe> {
    const listeners = isFull ? this.#fullListeners : this.#hashListeners;
    listeners.add(listener);
    const unsubscribe = (): void => {
      listeners.delete(listener);
      if (!this.#isWanted) this.#close();
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

  get #isWanted(): boolean {
    return this.#hashListeners.size + this.#fullListeners.size > 0;
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
            this.#received(hashes);
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
        if (!this.#isWanted) throw error;
      }
    }
  }

  #received(hashes: readonly string[]): void {
    const fresh = [...new Set(hashes)].filter((hash) => !this.#known.has(hash));
    if (fresh.length === 0) return;
    for (const hash of fresh) this.#known.set(hash, true);
    const results = fresh.map((hash) => JSON.stringify(hash));
    for (const listener of this.#hashListeners) listener.notify(results);
    if (this.#fullListeners.size > 0) this.#fetch(fresh);
  }

  /** Those that wait longest go untold where there are more than can be fetched. */
  #fetch(hashes: readonly string[]): void {
    this.#toFetch.push(...hashes);
    if (this.#toFetch.length > MAX_WAITING) this.#toFetch.splice(0, this.#toFetch.length - MAX_WAITING);
    while (this.#fetching < MAX_CONCURRENT_FETCHES && this.#toFetch.length > this.#fetching) void this.#deliverFull();
  }

  /** Never rejects. */
  async #deliverFull(): Promise<void> {
    this.#fetching++;
    for (let hash = this.#toFetch.shift(); hash !== undefined; hash = this.#toFetch.shift()) {
      const transaction = await this.#parts.transactionOf(hash);
      if (transaction === undefined) continue;
      const results = [JSON.stringify(transaction)];
      for (const listener of this.#fullListeners) listener.notify(results);
    }
    this.#fetching--;
  }
}
