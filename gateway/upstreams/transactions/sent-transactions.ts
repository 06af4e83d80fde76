import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../config/max-entries.ts';
import type { Log } from '../../config/log.ts';
import { UpstreamFailure } from '../transport/upstream-response.ts';
import type { Outcome } from '../outcome.ts';
import { classifySendRejection } from './send-rules.ts';
import { decodeTransaction, type Transaction } from './decode-transaction.ts';
import type { Upstream } from '../upstream.ts';

/** Until the other upstreams have heard of a transaction, or it is mined. */
const TTL_MS = 600_000;
const MAX_TRANSACTIONS = 10_000;

export interface SentTransactionsOptions {
  readonly log: Log;
  /** Upstreams that can be asked; where there is only one, there is nothing to remember. */
  readonly all: readonly Upstream[];
  /** Dev nodes answer with an error although they have mined the transaction (Hardhat, ganache). */
  readonly isDevelopment: boolean;
}

/** What became of transactions that were sent through this gateway, and which upstream took them. */
export class SentTransactions {
  readonly #log: Log;
  readonly #all: readonly Upstream[];
  readonly #isDevelopment: boolean;
  readonly #byHash: LRUCache<string, Upstream>;
  readonly #bySender: LRUCache<string, Upstream>;

  /** @param previous of the same network, when it had other upstreams: what it remembers goes on */
  constructor({ log, all, isDevelopment }: SentTransactionsOptions, previous?: SentTransactions) {
    this.#log = log;
    this.#all = all;
    this.#isDevelopment = isDevelopment;
    const fresh = (): LRUCache<string, Upstream> => new LRUCache({ ...maxEntries(MAX_TRANSACTIONS), ttl: TTL_MS });
    this.#byHash = previous === undefined ? fresh() : previous.#byHash;
    this.#bySender = previous === undefined ? fresh() : previous.#bySender;
  }

  /**
   * The verdict on a reply to `eth_sendRawTransaction`. A node that has the transaction already, from an attempt of
   * which we never heard or from elsewhere, has taken it. An error that no rule knows is not about the transaction: one
   * other upstream gets it. On a development chain it is final, since the transaction may be mined.
   * @param deadline on the clock of performance.now()
   */
  async resolveOutcome(upstream: Upstream, raw: string, verdict: Outcome, deadline: number): Promise<Outcome> {
    const { response } = verdict;
    if (response?.kind === 'result') {
      if (verdict.final) this.#remember(upstream, decodeTransaction(raw), String(response.result));
      return verdict;
    }
    if (response?.kind !== 'error') return verdict;
    const meaning = classifySendRejection(response.message);
    const transaction = meaning === undefined ? undefined : decodeTransaction(raw);
    if (
      transaction !== undefined &&
      (meaning === 'known' || (await hasTransaction(upstream, transaction.hash, deadline)))
    ) {
      this.#remember(upstream, transaction, transaction.hash);
      return { final: true, response: { kind: 'result', result: transaction.hash } };
    }
    if (verdict.final) return verdict;
    const isAboutIt = meaning !== undefined || (verdict.failure === 'unknown' && this.#isDevelopment);
    return isAboutIt ? { final: true, response } : verdict;
  }

  /** The upstream that is to be asked first: the one that took the transaction, or the sender's last one. */
  upstreamFor(method: string, params: readonly unknown[]): Upstream | undefined {
    if (this.#byHash.size === 0) return undefined;
    const upstream = this.#lookUp(method, params);
    return upstream !== undefined && this.#all.includes(upstream) ? upstream : undefined;
  }

  #lookUp(method: string, params: readonly unknown[]): Upstream | undefined {
    switch (method) {
      case 'eth_getTransactionByHash':
      case 'eth_getTransactionReceipt':
        return this.#byHash.get(String(params[0]));
      case 'eth_getTransactionCount':
        return params[1] === 'pending' ? this.#bySender.get(String(params[0]).toLowerCase()) : undefined;
      default:
        return undefined;
    }
  }

  /** @param hash as the node has it, which is right also where we know no rule for its hash */
  #remember(upstream: Upstream, transaction: Transaction | undefined, hash: string): void {
    if (this.#all.length > 1) {
      this.#byHash.set(hash.toLowerCase(), upstream);
      const sender = transaction?.sender();
      if (sender !== undefined) this.#bySender.set(sender, upstream);
    }
    if (transaction !== undefined && transaction.hash !== hash.toLowerCase()) {
      this.#log.warn(
        { upstream: upstream.name, given: hash, expected: transaction.hash },
        'another hash than expected',
      );
    }
  }
}

async function hasTransaction(upstream: Upstream, hash: string, deadline: number): Promise<boolean> {
  try {
    const response = await upstream.request('eth_getTransactionByHash', `["${hash}"]`, deadline - performance.now());
    const found = response.kind === 'result' ? (response.result as { hash?: unknown } | null) : null;
    return String(found?.hash).toLowerCase() === hash;
  } catch (error) {
    if (error instanceof UpstreamFailure) return false;
    throw error;
  }
}
