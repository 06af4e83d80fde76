import type { CanonicalChain } from '../heads/canonical-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { SubscriptionMeters } from '../metrics/subscription-metrics.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { callOf, type AskedCall } from '../upstream/asking.ts';
import type { Reply } from '../upstream/reply.ts';
import type { MethodUsage } from '../usage/method-usage.ts';
import { BlockLogs, type LogSource } from './block-logs.ts';
import { HeadsFeed } from './heads-feed.ts';
import type { Leave, Listener } from './listener.ts';
import { LogsFeed } from './logs-feed.ts';
import { PendingFeed } from './pending-feed.ts';
import type { PendingSource } from './pending-stream.ts';
import type { Kind, Wish } from './read-wish.ts';

/** The upstreams of a network, as far as subscribers are told what they say. */
export interface SubscriptionSources {
  readonly all: readonly PendingSource[];
  ask(call: AskedCall): Promise<Reply>;
}

export interface NetworkSubscriptionsParts {
  readonly chain: CanonicalChain;
  readonly upstreams: SubscriptionSources;
  readonly spec: (method: 'eth_getLogs' | 'eth_getTransactionByHash' | 'eth_getBlockByHash') => MethodSpec;
  readonly meters: Readonly<Record<Kind, SubscriptionMeters>>;
  /** What each key is told: notifications count as calls of `eth_subscription`. */
  readonly usage: MethodUsage;
}

const ASK_MS = 10_000;

/** All that one network's callers are told of: each thing is heard of once, however many they are. */
export class NetworkSubscriptions {
  readonly meters: Readonly<Record<Kind, SubscriptionMeters>>;
  readonly usage: MethodUsage;
  readonly #chain: CanonicalChain;
  #upstreams: SubscriptionSources;
  readonly #heads: HeadsFeed;
  readonly #logs: LogsFeed;
  readonly #pending: PendingFeed;

  constructor({ chain, upstreams, spec, meters, usage }: NetworkSubscriptionsParts) {
    this.meters = meters;
    this.usage = usage;
    this.#chain = chain;
    this.#upstreams = upstreams;
    this.#heads = new HeadsFeed(chain, spec('eth_getBlockByHash').shape);
    this.#logs = new LogsFeed(chain, new BlockLogs((...call) => this.ask(...call), spec('eth_getLogs')));
    const byHash = spec('eth_getTransactionByHash');
    this.#pending = new PendingFeed({
      sources: () => this.#upstreams.all,
      transactionOf: (hash) =>
        this.ask(byHash, [hash], performance.now() + ASK_MS).then(
          (reply) => (reply.kind === 'result' ? (reply.result ?? undefined) : undefined),
          () => undefined,
        ),
    });
  }

  /** Goes on with these upstreams of the same network. */
  moveTo(upstreams: SubscriptionSources): void {
    this.#upstreams = upstreams;
  }

  /** Asks the upstreams of the moment. @throws RpcError */
  ask(...call: Parameters<LogSource['ask']>): Promise<Reply> {
    return this.#upstreams.ask(callOf(...call));
  }

  /** @throws RpcError (or rejects with it) where nobody can tell */
  join(wish: Wish, listener: Listener): Leave | Promise<Leave> {
    switch (wish.kind) {
      case 'newHeads':
        return this.#fromNow(this.#heads.join(listener));
      case 'logs':
        return this.#fromNow(this.#logs.join(wish.filter, listener));
      case 'newPendingTransactions':
        return this.#pending.join(listener, wish.isWhole);
      case 'syncing':
        // As geth when it keeps up: once, at the beginning. Who does not keep up is not asked by us.
        listener.tell(['false']);
        return () => undefined;
    }
  }

  /** Blocks are told from now on, which must be known. */
  async #fromNow(leave: Leave): Promise<Leave> {
    if ((await this.#chain.current(ASK_MS)) !== undefined) return leave;
    leave();
    throw new RpcError('no-upstream');
  }
}
