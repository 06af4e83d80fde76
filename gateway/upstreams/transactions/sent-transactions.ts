import { LRUCache } from 'lru-cache';
import { clock } from '../../clock/clock.ts';
import { expiringEntries } from '../../config/max-entries.ts';
import type { Log } from '../../config/log.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';
import { parseResponse, TimedOut, UpstreamFailure, type UpstreamResponse } from '../transport/upstream-response.ts';
import { complete } from '../transport/flowing-result.ts';
import { LatencyWindow } from '../latency-window.ts';
import type { Outcome } from '../outcome.ts';
import type { RawTransaction } from './raw-transaction.ts';
import { classifySendRejection } from './send-rules.ts';
import type { Upstream } from '../upstream.ts';

/** Time after which other upstreams have received the transaction, or it is mined. */
const TTL_MS = 600_000;
const MAX_TRANSACTIONS = 10_000;
/** Time after its last transaction in which a sender's pending count is that of all upstreams that accepted some. */
const PENDING_MS = 60_000;

/** An upstream has twice the time in which 19 of 20 transactions got a response, so that few acceptances come later. */
const USUAL_QUANTILE = 0.95;
const USUAL_FACTOR = 2;
const MIN_SAMPLES = 5;
/** An upstream has at least this time, also while it has not responded to 5 transactions. */
const MIN_USUAL_MS = 1_000;

/** Transactions of one sender that upstreams accepted. */
export interface AcceptedTransactions {
  /** Upstreams, first the one that accepted the latest transaction before the others. */
  readonly upstreams: readonly Upstream[];
  /** The highest nonce that was accepted. */
  readonly nonce: bigint;
}

interface SenderRecord extends AcceptedTransactions {
  /** Time when the last one was accepted, by clock.now(). */
  readonly at: number;
}

/** Transactions that a reload takes over. */
interface KnownTransactions {
  /** The upstream that accepted a transaction first. */
  readonly byHash: LRUCache<string, Upstream>;
  readonly bySender: LRUCache<string, SenderRecord>;
  /** Times until upstreams responded to transactions, by method. */
  readonly times: WeakMap<Upstream, Map<string, LatencyWindow>>;
  /** Transactions without a response yet whose callers have theirs. */
  readonly unfinished: WeakMap<Upstream, number>;
}

function newRecords(): KnownTransactions {
  return {
    byHash: new LRUCache(expiringEntries(MAX_TRANSACTIONS, TTL_MS)),
    bySender: new LRUCache(expiringEntries(MAX_TRANSACTIONS, TTL_MS)),
    times: new WeakMap(),
    unfinished: new WeakMap(),
  };
}

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
  readonly #known: KnownTransactions;

  /** @param previous of the same network before a reload: its records are taken over */
  constructor({ log, all, lookups, isDevelopment }: SentTransactionsOptions, previous?: SentTransactions) {
    this.#log = log;
    this.#all = all;
    this.#lookups = lookups;
    this.#isDevelopment = isDevelopment;
    this.#known = previous === undefined ? newRecords() : previous.#known;
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
    transaction: RawTransaction,
    outcome: Outcome,
    deadline: number,
  ): Promise<Outcome> {
    const { response } = outcome;
    if (response?.kind !== 'error') {
      if (!outcome.final) return this.#count(upstream, outcome, 'failed');
      this.#record(upstream, transaction, hashIn(outcome.response) ?? transaction.decoded?.hash, 'accepted');
      return { ...outcome, hasTransaction: true };
    }
    const read = classifySendRejection(response.message);
    const meaning = read === 'may-be-known' && outcome.final ? undefined : read;
    const { hash } = (meaning === undefined ? undefined : transaction.decoded) ?? {};
    const isSure = meaning === 'known' || meaning === 'not-mined';
    if (hash !== undefined && (isSure || (await this.has(upstream, transaction, deadline)) === true)) {
      const isWaiting = meaning === 'not-mined';
      this.#record(upstream, transaction, hash, isWaiting ? 'accepted' : 'known');
      const known = isWaiting ? noReceipt(response.message, hash) : knownResponse(method, hash);
      return { final: true, response: known, hasTransaction: true };
    }
    if (outcome.final) return this.#count(upstream, outcome, 'rejected');
    const isMeant = meaning !== undefined && meaning !== 'may-be-known';
    const isAboutTransaction = isMeant || (outcome.failure === 'unknown' && this.#isDevelopment);
    return isAboutTransaction
      ? this.#count(upstream, { final: true, response }, 'rejected')
      : this.#count(upstream, outcome, 'failed');
  }

  /** Counts a transaction to which the upstream has not responded. */
  countNoResponse(upstream: Upstream, error: unknown): void {
    if (!(error instanceof UpstreamFailure)) return;
    const isLate = error instanceof TimedOut || error.failure === 'slow';
    upstream.metrics.sentTransaction(isLate ? 'late' : 'failed');
  }

  #count(upstream: Upstream, outcome: Outcome, counted: 'rejected' | 'failed'): Outcome {
    upstream.metrics.sentTransaction(counted);
    return outcome;
  }

  /**
   * Whether an upstream has the transaction. Undefined: it may not get lookups, or the hash is not known.
   * @param deadline by clock.now()
   */
  async has(upstream: Upstream, { decoded }: RawTransaction, deadline: number): Promise<boolean | undefined> {
    if (decoded === undefined || !this.#lookups.includes(upstream)) return undefined;
    return hasTransaction(upstream, decoded.hash, deadline);
  }

  /** Records how long an upstream took to respond to a transaction. */
  recordTime(upstream: Upstream, method: string, ms: number): void {
    const times = this.#known.times.get(upstream) ?? new Map<string, LatencyWindow>();
    this.#known.times.set(upstream, times);
    const window = times.get(method) ?? new LatencyWindow();
    times.set(method, window);
    window.add(ms, clock.now());
  }

  /** The time in ms within which the upstream usually responds to a transaction. */
  usualMs(upstream: Upstream, method: string): number {
    const ms = this.#known.times.get(upstream)?.get(method)?.quantile(USUAL_QUANTILE, MIN_SAMPLES) ?? 0;
    return Math.max(USUAL_FACTOR * ms, MIN_USUAL_MS);
  }

  /** How many transactions the upstream has not responded to, of those whose callers have a response. */
  unfinishedAt(upstream: Upstream): number {
    return this.#known.unfinished.get(upstream) ?? 0;
  }

  /** @param change 1 when the caller has its response, -1 when the upstream has responded or failed */
  changeUnfinished(upstream: Upstream, change: 1 | -1): void {
    this.#known.unfinished.set(upstream, this.unfinishedAt(upstream) + change);
  }

  /** Transactions that were accepted of the sender whose state is read, if several upstreams accepted it within a minute. */
  acceptedFor({ tracks }: MethodSpec, params: readonly unknown[]): AcceptedTransactions | undefined {
    if (tracks?.of !== 'sender') return undefined;
    const record = this.#known.bySender.get(String(params[tracks.param]).toLowerCase());
    if (record === undefined || clock.now() - record.at > PENDING_MS) return undefined;
    const upstreams = record.upstreams.filter((upstream) => this.#all.includes(upstream));
    return upstreams.length > 1 ? { upstreams, nonce: record.nonce } : undefined;
  }

  /** The upstream to select first: it accepted the transaction of the lookup, or the sender's last transaction. */
  upstreamFor(method: MethodSpec, params: readonly unknown[]): Upstream | undefined {
    const upstream = this.#find(method, params);
    return upstream !== undefined && this.#all.includes(upstream) ? upstream : undefined;
  }

  #find({ tracks, blockAt }: MethodSpec, params: readonly unknown[]): Upstream | undefined {
    if (tracks === undefined) return undefined;
    const value = String(params[tracks.param]);
    if (tracks.of === 'transaction') return this.#known.byHash.get(value);
    // Only the pending state has transactions that one upstream has accepted.
    const isPending = blockAt !== undefined && params[blockAt.param] === 'pending';
    return isPending ? this.#known.bySender.get(value.toLowerCase())?.upstreams[0] : undefined;
  }

  /** @param hash from the node's response, which is right also for types that the gateway cannot hash */
  #record(
    upstream: Upstream,
    transaction: RawTransaction,
    hash: string | undefined,
    counted: 'accepted' | 'known',
  ): void {
    // The caller got an error.
    upstream.metrics.sentTransaction(transaction.hasError ? 'late' : counted);
    const isFirst = !transaction.isAccepted;
    if (isFirst) upstream.metrics.acceptedFirst((clock.now() - transaction.sentAt) / 1000);
    transaction.isAccepted = true;
    const { decoded } = transaction;
    if (hash === undefined) return;
    if (this.#all.length > 1) {
      if (isFirst) this.#known.byHash.set(hash.toLowerCase(), upstream);
      if (decoded !== undefined) {
        const at = clock.now();
        // After the response is written: to recover the sender takes milliseconds.
        clock.setImmediate(() => {
          const { sender } = transaction;
          if (sender !== undefined) this.#recordSender(sender, upstream, decoded.nonce, isFirst, at);
        });
      }
    }
    if (decoded !== undefined && decoded.hash !== hash.toLowerCase()) {
      this.#log.warn(
        { upstream: upstream.name, hash, expected: decoded.hash },
        'upstream returned an unexpected transaction hash',
      );
    }
  }

  #recordSender(sender: string, upstream: Upstream, nonce: bigint, isFirst: boolean, at: number): void {
    const known = this.#known.bySender.get(sender);
    const recent = known !== undefined && at - known.at <= PENDING_MS ? known : undefined;
    const others = recent?.upstreams.filter((one) => one !== upstream) ?? [];
    this.#known.bySender.set(sender, {
      upstreams: isFirst ? [upstream, ...others] : [...others, upstream],
      nonce: recent !== undefined && recent.nonce > nonce ? recent.nonce : nonce,
      at,
    });
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

/** The hash that a result is, or has. Undefined: it has none, or is too large to be parsed for that. */
function hashIn(response: UpstreamResponse): string | undefined {
  if (response.kind !== 'result') return undefined;
  const { result } = response;
  const hash = typeof result === 'string' ? result : (result as { transactionHash?: unknown } | null)?.transactionHash;
  return typeof hash === 'string' ? hash : undefined;
}

async function hasTransaction(upstream: Upstream, hash: string, deadline: number): Promise<boolean> {
  try {
    const sent = await upstream.send(nodeMethods.transactionByHash, `["${hash}"]`, { deadline });
    const response = parseResponse(complete(sent));
    const found = response.kind === 'result' ? (response.result as { hash?: unknown } | null)?.hash : undefined;
    return typeof found === 'string' && found.toLowerCase() === hash;
  } catch (error) {
    if (error instanceof UpstreamFailure) return false;
    throw error;
  }
}
