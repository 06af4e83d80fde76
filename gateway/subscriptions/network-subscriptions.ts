import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { Header } from '../chain/header.ts';
import type { WatchedChain } from '../chain/poller.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isStronger, type VerifyLevel } from '../network-files/options/verify-option.ts';
import type { SubscriptionMetrics } from '../metrics/series.ts';
import type { MethodSpec, ObjectShape } from '../spec/method-spec.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { MethodUsage } from '../usage/method-usage.ts';
import { BlockLogs, type LogSource } from './feeds/block-logs.ts';
import { fanOut } from './feeds/fan-out.ts';
import { HeadsFeed } from './feeds/heads-feed.ts';
import type { Unsubscribe, Subscriber } from './feeds/subscriber.ts';
import { LogsFeed } from './feeds/logs-feed.ts';
import { ReceiptsFeed } from './feeds/receipts-feed.ts';
import { PendingFeed } from './feeds/pending-feed.ts';
import { ProvenChain } from './feeds/proven-chain.ts';
import type { PendingSource } from './feeds/pending-stream.ts';
import type { SubscriptionKind, SubscriptionParams } from './subscription-params.ts';

/** The part of the upstreams that subscriptions use. */
export interface SubscriptionSources {
  readonly all: readonly PendingSource[];
  /** @param level how far the result is proven */
  readonly request: (level: VerifyLevel, ...call: Parameters<LogSource['request']>) => Promise<UpstreamResponse>;
  /** Proves a header, as in `ProvenChain`. */
  readonly proveHeader: (header: Header, isRequired: boolean) => Promise<Header | undefined>;
}

export interface NetworkSubscriptionsOptions {
  readonly slug: string;
  readonly chain: WatchedChain;
  readonly upstreams: SubscriptionSources;
  readonly blockShape: ObjectShape | undefined;
  /** The method that requests logs. */
  readonly logs: MethodSpec;
  /** The method that requests the receipts of a block. */
  readonly blockReceipts: MethodSpec;
  readonly transactionByHash: MethodSpec;
  readonly metrics: Readonly<Record<SubscriptionKind, SubscriptionMetrics>>;
  /** Usage of each key: notifications count as calls of their method. */
  readonly usage: MethodUsage;
  /** Log of the network. */
  readonly log: Log;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** A filter waits for less. */
const DELIVERY_TIMEOUT_MS = 1_000;

/** The feeds of blocks that are proven as far as one level says. */
interface BlockFeeds {
  /** Proven chain; undefined: what is followed is delivered. */
  readonly proven: ProvenChain | undefined;
  readonly heads: HeadsFeed;
  readonly blockLogs: BlockLogs;
  readonly logs: LogsFeed;
  readonly receipts: ReceiptsFeed;
}

/** Serves the subscriptions of one network. Each event is fetched once for all subscribers. */
export class NetworkSubscriptions {
  readonly metrics: Readonly<Record<SubscriptionKind, SubscriptionMetrics>>;
  readonly usage: MethodUsage;
  readonly #chain: WatchedChain;
  #upstreams: SubscriptionSources;
  readonly #options: NetworkSubscriptionsOptions;
  /** Feeds by level, opened with the first subscriber of it. */
  readonly #blocks: Partial<Record<VerifyLevel, BlockFeeds>> = {};
  readonly #pending: PendingFeed;

  constructor(options: NetworkSubscriptionsOptions) {
    const { chain, upstreams, transactionByHash, metrics, usage } = options;
    this.#options = options;
    this.metrics = metrics;
    this.usage = usage;
    this.#chain = chain;
    this.#upstreams = upstreams;
    this.#pending = new PendingFeed({
      sources: () => this.#upstreams.all,
      fetchTransaction: (hash) =>
        this.#upstreams
          .request('off', transactionByHash, [hash], clock.now() + REQUEST_TIMEOUT_MS)
          .then(textOf, () => undefined),
    });
  }

  /** Uses these upstreams of the same network from now on. */
  moveTo(upstreams: SubscriptionSources): void {
    this.#upstreams = upstreams;
    this.#pending.followSources();
  }

  /** Whether logs are not checked, because the bloom filters of this chain differ from its logs. */
  get isBloomWrong(): boolean {
    return this.#blocks.off?.blockLogs.isBloomWrong === true;
  }

  /**
   * @param level how far it is proven what the subscriber gets
   * @throws RpcError (or rejects with it) if no upstream provides this kind of subscription, or if nothing can prove it
   */
  subscribe(
    subscription: SubscriptionParams,
    subscriber: Subscriber,
    level: VerifyLevel = 'off',
  ): Unsubscribe | Promise<Unsubscribe> {
    const { heads, logs, receipts } = this.#blocksOf(level);
    switch (subscription.kind) {
      case 'newHeads':
        return this.#startFromHead(heads.join(subscriber));
      case 'logs':
        return this.#startFromHead(logs.join(subscription.filter, subscriber));
      case 'transactionReceipts':
        return this.#startFromHead(receipts.join(subscriber, subscription.hashes));
      case 'newPendingTransactions':
        if (level === 'require') throw new RpcError('not-proven', 'pending transactions cannot be proven');
        return this.#pending.join(subscriber, subscription.isFull);
      case 'syncing':
        // A synchronised geth sends one `false`. Selection skips upstreams that lag, so the network never syncs.
        subscriber.deliver(['false']);
        return () => undefined;
    }
  }

  /** Resolves when an owner's subscribers of this kind have the blocks that callers were served. Undefined: they have them. */
  deliveryOf(kind: SubscriptionKind, owner?: string, level: VerifyLevel = 'off'): Promise<unknown> | undefined {
    if (kind !== 'newHeads' && kind !== 'logs') return undefined;
    const { proven, logs } = this.#blocksOf(level);
    const { head, newestServed } = this.#chain.view;
    const isBehind = head !== undefined && head.number < newestServed;
    return oneAfterTheOther([
      () => (isBehind ? this.#chain.waitForChange(DELIVERY_TIMEOUT_MS) : undefined),
      () => proven?.delivery,
      () => (kind === 'logs' ? logs.delivery : undefined),
      () => fanOut.deliveryTo(owner),
    ]);
  }

  #blocksOf(level: VerifyLevel): BlockFeeds {
    const isProven = isStronger(level, 'observe');
    return (this.#blocks[isProven ? level : 'off'] ??= this.#openBlocks(isProven ? level : 'off'));
  }

  #openBlocks(level: VerifyLevel): BlockFeeds {
    const { slug, chain: followed, blockShape, logs, blockReceipts, log } = this.#options;
    const isRequired = level === 'require';
    const proveHeader = (header: Header): Promise<Header | undefined> =>
      this.#upstreams.proveHeader(header, isRequired);
    const proven = level === 'off' ? undefined : new ProvenChain({ chain: followed, isRequired, proveHeader, log });
    const chain = proven ?? followed;
    const request: LogSource['request'] = (...call) => this.#upstreams.request(level, ...call);
    const blockLogs = new BlockLogs(request, logs, `logs of ${slug}`);
    return {
      proven,
      heads: new HeadsFeed(chain, blockShape),
      blockLogs,
      logs: new LogsFeed(chain, blockLogs, `logs of ${slug}`),
      receipts: new ReceiptsFeed(chain, request, blockReceipts, `receipts of ${slug}`),
    };
  }

  /** Delivery starts after the current head, so the head must be known. */
  async #startFromHead(unsubscribe: Unsubscribe): Promise<Unsubscribe> {
    if ((await this.#chain.waitForHead(REQUEST_TIMEOUT_MS)) !== undefined) return unsubscribe;
    unsubscribe();
    throw new RpcError('no-upstream');
  }
}

/** @returns resolves when the waits have ended, each of which begins after the one before. Undefined: there are none */
function oneAfterTheOther([begin, ...later]: (() => Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  if (begin === undefined) return undefined;
  const wait = begin();
  return wait === undefined ? oneAfterTheOther(later) : wait.then(() => oneAfterTheOther(later));
}

/** The JSON text of an object. Undefined: null, or an error. */
function textOf(response: UpstreamResponse): string | undefined {
  if (response.kind === 'large') return response.parts.join('');
  return response.kind === 'result' && response.result !== null ? JSON.stringify(response.result) : undefined;
}
