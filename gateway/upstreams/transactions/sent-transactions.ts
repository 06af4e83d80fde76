import { LRUCache } from 'lru-cache';
import { expiringEntries } from '../../config/max-entries.ts';
import type { Log } from '../../config/log.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';
import { UpstreamFailure, type UpstreamResponse } from '../transport/upstream-response.ts';
import type { Outcome } from '../outcome.ts';
import { classifySendRejection } from './send-rules.ts';
import { decodeTransaction, type Transaction } from './decode-transaction.ts';
import type { Upstream } from '../upstream.ts';

/** By then other upstreams have received the transaction, or it is mined. */
const TTL_MS = 600_000;
const MAX_TRANSACTIONS = 10_000;

export interface SentTransactionsOptions {
  readonly log: Log;
  /** The upstreams of the network. With only one, nothing is recorded. */
  readonly all: readonly Upstream[];
  /** The upstreams that may get requests for a transaction by its hash. */
  readonly lookups: readonly Upstream[];
  /** A development node may return an error although it has mined the transaction (Hardhat, ganache). */
  readonly isDevelopment: boolean;
}

/**
 * Classifies responses to methods that send a raw transaction, and records which upstream accepted which transaction, for later
 * lookups. It does not send or repeat transactions.
 */
export class SentTransactions {
  readonly #log: Log;
  readonly #all: readonly Upstream[];
  readonly #lookups: readonly Upstream[];
  readonly #isDevelopment: boolean;
  readonly #byHash: LRUCache<string, Upstream>;
  readonly #bySender: LRUCache<string, Upstream>;

  /** @param previous of the same network before a reload: its records are taken over */
  constructor({ log, all, lookups, isDevelopment }: SentTransactionsOptions, previous?: SentTransactions) {
    this.#log = log;
    this.#all = all;
    this.#lookups = lookups;
    this.#isDevelopment = isDevelopment;
    const newCache = (): LRUCache<string, Upstream> => new LRUCache(expiringEntries(MAX_TRANSACTIONS, TTL_MS));
    this.#byHash = previous === undefined ? newCache() : previous.#byHash;
    this.#bySender = previous === undefined ? newCache() : previous.#bySender;
  }

  /**
   * The outcome of a response to a method that sends. If the node already has the transaction, the send was
   * successful: the response to an earlier attempt may be lost, or another sender was faster. An error without a rule
   * does not concern the transaction: one other upstream gets it. On a development chain it is final, because the node
   * may have mined the transaction.
   * @param deadline by clock.now()
   */
  async resolveOutcome(
    upstream: Upstream,
    method: MethodSpec,
    raw: string,
    outcome: Outcome,
    deadline: number,
  ): Promise<Outcome> {
    const { response } = outcome;
    if (response?.kind === 'result') {
      if (outcome.final) this.#record(upstream, decodeTransaction(raw), hashIn(response.result));
      return outcome;
    }
    if (response?.kind !== 'error') return outcome;
    const meaning = classifySendRejection(response.message);
    const transaction = meaning === undefined ? undefined : decodeTransaction(raw);
    if (
      transaction !== undefined &&
      (meaning !== 'nonce-used' ||
        (this.#lookups.includes(upstream) && (await hasTransaction(upstream, transaction.hash, deadline))))
    ) {
      this.#record(upstream, transaction, transaction.hash);
      const isWaiting = meaning === 'not-mined';
      const { hash } = transaction;
      return { final: true, response: isWaiting ? noReceipt(response.message, hash) : knownResponse(method, hash) };
    }
    if (outcome.final) return outcome;
    const isAboutTransaction = meaning !== undefined || (outcome.failure === 'unknown' && this.#isDevelopment);
    return isAboutTransaction ? { final: true, response } : outcome;
  }

  /** The upstream to select first: it accepted the transaction of the lookup, or the sender's last transaction. */
  upstreamFor(method: MethodSpec, params: readonly unknown[]): Upstream | undefined {
    if (this.#byHash.size === 0) return undefined;
    const upstream = this.#find(method, params);
    return upstream !== undefined && this.#all.includes(upstream) ? upstream : undefined;
  }

  #find({ tracks, blockAt }: MethodSpec, params: readonly unknown[]): Upstream | undefined {
    if (tracks === undefined) return undefined;
    const value = String(params[tracks.param]);
    if (tracks.of === 'transaction') return this.#byHash.get(value);
    // Only the pending state has transactions that one upstream has accepted.
    const isPending = blockAt !== undefined && params[blockAt.param] === 'pending';
    return isPending ? this.#bySender.get(value.toLowerCase()) : undefined;
  }

  /** @param hash from the node's response, which is right also for types that the gateway cannot hash */
  #record(upstream: Upstream, transaction: Transaction | undefined, hash: string): void {
    if (this.#all.length > 1) {
      this.#byHash.set(hash.toLowerCase(), upstream);
      const sender = transaction?.sender();
      if (sender !== undefined) this.#bySender.set(sender, upstream);
    }
    if (transaction !== undefined && transaction.hash !== hash.toLowerCase()) {
      this.#log.warn(
        { upstream: upstream.name, hash, expected: transaction.hash },
        'upstream returned an unexpected transaction hash',
      );
    }
  }
}

/** The response about a transaction that was sent before: its hash, if the method has no other result. */
function knownResponse({ resultKinds }: MethodSpec, hash: string): UpstreamResponse {
  return resultKinds?.includes('string') === true
    ? { kind: 'result', result: hash }
    : noReceipt('The transaction was sent before: its receipt is not waited for', hash);
}

/** The error of EIP-7966, with the hash that a client can poll. */
function noReceipt(message: string, hash: string): UpstreamResponse {
  return { kind: 'error', code: 4, message, data: hash };
}

/** A result is a hash, or has one. */
function hashIn(result: unknown): string {
  return String(
    typeof result === 'string' ? result : (result as { transactionHash?: unknown } | null)?.transactionHash,
  );
}

async function hasTransaction(upstream: Upstream, hash: string, deadline: number): Promise<boolean> {
  try {
    const response = await upstream.send(nodeMethods.transactionByHash, `["${hash}"]`, { deadline });
    const found = response.kind === 'result' ? (response.result as { hash?: unknown } | null) : null;
    return String(found?.hash).toLowerCase() === hash;
  } catch (error) {
    if (error instanceof UpstreamFailure) return false;
    throw error;
  }
}
