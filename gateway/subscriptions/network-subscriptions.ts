import { clock } from '../clock/clock.ts';
import type { WatchedChain } from '../chain/poller.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { KindSubscriptionMetrics } from '../metrics/subscription-metrics.ts';
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
import type { PendingSource } from './feeds/pending-stream.ts';
import type { SubscriptionKind, SubscriptionParams } from './subscription-params.ts';

/** The part of the upstreams that subscriptions use. */
export interface SubscriptionSources {
  readonly all: readonly PendingSource[];
  readonly request: LogSource['request'];
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
  readonly metrics: Readonly<Record<SubscriptionKind, KindSubscriptionMetrics>>;
  /** Usage of each key: notifications count as calls of their method. */
  readonly usage: MethodUsage;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** A filter waits for less. */
const DELIVERY_TIMEOUT_MS = 1_000;

/** Serves the subscriptions of one network. Each event is fetched once for all subscribers. */
export class NetworkSubscriptions {
  readonly metrics: Readonly<Record<SubscriptionKind, KindSubscriptionMetrics>>;
  readonly usage: MethodUsage;
  readonly #chain: WatchedChain;
  #upstreams: SubscriptionSources;
  readonly #heads: HeadsFeed;
  readonly #blockLogs: BlockLogs;
  readonly #logs: LogsFeed;
  readonly #receipts: ReceiptsFeed;
  readonly #pending: PendingFeed;

  constructor(options: NetworkSubscriptionsOptions) {
    const { slug, chain, upstreams, blockShape, logs, blockReceipts, transactionByHash, metrics, usage } = options;
    this.metrics = metrics;
    this.usage = usage;
    this.#chain = chain;
    this.#upstreams = upstreams;
    this.#heads = new HeadsFeed(chain, blockShape);
    this.#blockLogs = new BlockLogs((...call) => this.request(...call), logs, `logs of ${slug}`);
    this.#logs = new LogsFeed(chain, this.#blockLogs, `logs of ${slug}`);
    this.#receipts = new ReceiptsFeed(chain, (...call) => this.request(...call), blockReceipts, `receipts of ${slug}`);
    this.#pending = new PendingFeed({
      sources: () => this.#upstreams.all,
      fetchTransaction: (hash) =>
        this.request(transactionByHash, [hash], clock.now() + REQUEST_TIMEOUT_MS).then(textOf, () => undefined),
    });
  }

  /** Uses these upstreams of the same network from now on. */
  moveTo(upstreams: SubscriptionSources): void {
    this.#upstreams = upstreams;
    this.#pending.followSources();
  }

  /** Sends a call to the current upstreams. @throws RpcError */
  request(...call: Parameters<LogSource['request']>): Promise<UpstreamResponse> {
    return this.#upstreams.request(...call);
  }

  /** Whether logs are not checked, because the bloom filters of this chain differ from its logs. */
  get isBloomWrong(): boolean {
    return this.#blockLogs.isBloomWrong;
  }

  /** @throws RpcError (or rejects with it) if no upstream provides this kind of subscription */
  subscribe(subscription: SubscriptionParams, subscriber: Subscriber): Unsubscribe | Promise<Unsubscribe> {
    switch (subscription.kind) {
      case 'newHeads':
        return this.#startFromHead(this.#heads.join(subscriber));
      case 'logs':
        return this.#startFromHead(this.#logs.join(subscription.filter, subscriber));
      case 'transactionReceipts':
        return this.#startFromHead(this.#receipts.join(subscriber, subscription.hashes));
      case 'newPendingTransactions':
        return this.#pending.join(subscriber, subscription.isFull);
      case 'syncing':
        // A synchronised geth sends one `false`. Selection skips upstreams that lag, so the network never syncs.
        subscriber.deliver(['false']);
        return () => undefined;
    }
  }

  /** Resolves when an owner's subscribers of this kind have the blocks that callers were served. Undefined: they have them. */
  deliveryOf(kind: SubscriptionKind, owner?: string): Promise<unknown> | undefined {
    if (kind !== 'newHeads' && kind !== 'logs') return undefined;
    const delivery = (): Promise<unknown> | undefined => {
      const fromFeed = kind === 'logs' ? this.#logs.delivery : undefined;
      return fromFeed === undefined ? fanOut.deliveryTo(owner) : fromFeed.then(() => fanOut.deliveryTo(owner));
    };
    const { head, newestServed } = this.#chain.view;
    const isBehind = head !== undefined && head.number < newestServed;
    return isBehind ? this.#chain.waitForChange(DELIVERY_TIMEOUT_MS).then(delivery) : delivery();
  }

  /** Delivery starts after the current head, so the head must be known. */
  async #startFromHead(unsubscribe: Unsubscribe): Promise<Unsubscribe> {
    if ((await this.#chain.waitForHead(REQUEST_TIMEOUT_MS)) !== undefined) return unsubscribe;
    unsubscribe();
    throw new RpcError('no-upstream');
  }
}

/** The JSON text of an object. Undefined: null, or an error. */
function textOf(response: UpstreamResponse): string | undefined {
  if (response.kind === 'large') return response.parts.join('');
  return response.kind === 'result' && response.result !== null ? JSON.stringify(response.result) : undefined;
}
