import { LRUCache } from 'lru-cache';
import { atMost } from '../config/at-most.ts';
import type { Log } from '../config/log.ts';
import { UpstreamFailure, type Verdict } from './reply.ts';
import { readRefusal } from './send-rules.ts';
import { transactionOf, type Transaction } from './transaction-of.ts';
import type { Upstream } from './upstream.ts';

/** Until the other upstreams have heard of a transaction, or it is mined. */
const REMEMBERED_MS = 600_000;
const REMEMBERED_MAX = 10_000;

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

  /** @param before of the same network, when it had other upstreams: what it remembers goes on */
  constructor({ log, all, isDevelopment }: SentTransactionsOptions, before?: SentTransactions) {
    this.#log = log;
    this.#all = all;
    this.#isDevelopment = isDevelopment;
    const fresh = (): LRUCache<string, Upstream> => new LRUCache({ ...atMost(REMEMBERED_MAX), ttl: REMEMBERED_MS });
    this.#byHash = before === undefined ? fresh() : before.#byHash;
    this.#bySender = before === undefined ? fresh() : before.#bySender;
  }

  /**
   * The verdict on a reply to `eth_sendRawTransaction`. A node that has the transaction already, from an attempt of
   * which we never heard or from elsewhere, has taken it. An error that no rule knows is not about the transaction: one
   * other upstream gets it. On a development chain it is final, since the transaction may be mined.
   * @param deadline on the clock of performance.now()
   */
  async settle(upstream: Upstream, raw: string, verdict: Verdict, deadline: number): Promise<Verdict> {
    const { reply } = verdict;
    if (reply?.kind === 'result') {
      if (verdict.final) this.#taken(upstream, transactionOf(raw), String(reply.result));
      return verdict;
    }
    if (reply?.kind !== 'error') return verdict;
    const says = readRefusal(reply.message);
    const transaction = says === undefined ? undefined : transactionOf(raw);
    if (transaction !== undefined && (says === 'known' || (await has(upstream, transaction.hash, deadline)))) {
      this.#taken(upstream, transaction, transaction.hash);
      return { final: true, reply: { kind: 'result', result: transaction.hash } };
    }
    if (verdict.final) return verdict;
    const isAboutIt = says !== undefined || (verdict.failure === 'unknown' && this.#isDevelopment);
    return isAboutIt ? { final: true, reply } : verdict;
  }

  /** The upstream that is to be asked first: the one that took the transaction, or the sender's last one. */
  takerFor(method: string, params: readonly unknown[]): Upstream | undefined {
    if (this.#byHash.size === 0) return undefined;
    const taker = this.#remembered(method, params);
    return taker !== undefined && this.#all.includes(taker) ? taker : undefined;
  }

  #remembered(method: string, params: readonly unknown[]): Upstream | undefined {
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
  #taken(upstream: Upstream, transaction: Transaction | undefined, hash: string): void {
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

async function has(upstream: Upstream, hash: string, deadline: number): Promise<boolean> {
  try {
    const reply = await upstream.ask('eth_getTransactionByHash', `["${hash}"]`, deadline - performance.now());
    const found = reply.kind === 'result' ? (reply.result as { hash?: unknown } | null) : null;
    return String(found?.hash).toLowerCase() === hash;
  } catch (error) {
    if (error instanceof UpstreamFailure) return false;
    throw error;
  }
}
