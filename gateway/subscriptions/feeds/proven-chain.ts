import { MAX_HEADERS } from '../../chain/followed-chain.ts';
import type { Header } from '../../chain/header.ts';
import { HeaderRing, type ChainChange } from '../../chain/header-ring.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import { clock } from '../../clock/clock.ts';
import { causeOf, type Log } from '../../config/log.ts';
import type { Unsubscribe } from './subscriber.ts';

const HEAD_TIMEOUT_MS = 10_000;
/** Longest time between two looks at the followed chain. */
const MAX_LOOK_MS = 1_000;
/** Wait of a block for its witnesses without `require`, and its minimum in block times: a lone branch is left by then. */
const MAX_WITNESS_WAIT_MS = 15_000;
const MAX_WITNESS_WAIT_BLOCKS = 4;
/** Further time without a delivery after which there is a gap, while there are new blocks. */
const MAX_SILENCE_MS = 60_000;

export interface ProvenChainOptions {
  readonly chain: Omit<WatchedChain, 'waitForChange'>;
  /** Blocks without witnesses are never delivered. */
  readonly isRequired: boolean;
  /** A header whose hash is proven. Undefined: it is wrong, or is not proven and must be. Never rejects. */
  readonly proveHeader: (header: Header) => Promise<Header | undefined>;
  readonly log: Log;
}

/** The deliveries from the first watcher on, until there is none. */
class Delivery {
  /** The delivered blocks, and those before them. */
  readonly ring = new HeaderRing(MAX_HEADERS);
  /** The head at the start: delivery begins after it, or after the block that is witnessed then. Undefined: not known yet. */
  start: Header | undefined;
  /** Time when blocks were last delivered, or at the start. */
  deliveredAt = clock.now();
  /** Whether the watchers may have missed a change after an error. */
  hasFailed = false;
  /** Resolves when something has come since the last look began. */
  news: Promise<unknown> | undefined;
  /** The look in progress, or the next one, which waits for news. */
  look: Promise<void> | undefined;
}

/** The part of the followed chain that is witnessed, with headers that have their hash. It has its own reorgs. */
export class ProvenChain {
  readonly #options: ProvenChainOptions;
  readonly #watchers = new Set<(change: ChainChange) => void>();
  /** Delivery in progress; undefined: there are no watchers. */
  #delivery: Delivery | undefined;

  constructor(options: ProvenChainOptions) {
    this.#options = options;
  }

  /** Watches the proven chain, as `watch` of the followed chain does. @param listener must not throw */
  watch(listener: (change: ChainChange) => void): Unsubscribe {
    this.#watchers.add(listener);
    if (this.#delivery === undefined) void this.#follow((this.#delivery = new Delivery()));
    return () => {
      this.#watchers.delete(listener);
      if (this.#watchers.size === 0) this.#delivery = undefined;
    };
  }

  /** Resolves when the blocks that may be delivered now are, or cannot be proven. Undefined: they are delivered. */
  get delivery(): Promise<void> | undefined {
    const { ring, look } = this.#delivery ?? {};
    const newest = this.#newest();
    return newest === undefined || ring?.headers.has(newest.hash) === true ? undefined : look;
  }

  /** Follows the chain for a delivery, and never rejects. */
  async #follow(delivery: Delivery): Promise<void> {
    const unwatch = this.#options.chain.watch(() => undefined, false);
    while (this.#delivery === delivery) await (delivery.look = this.#look(delivery));
    unwatch();
  }

  /** Looks at the chain for a delivery, and never rejects. */
  async #look(delivery: Delivery): Promise<void> {
    const { chain, log } = this.#options;
    await delivery.news;
    delivery.news = chain.waitForNews(MAX_LOOK_MS);
    try {
      if (delivery.hasFailed) this.#restart(delivery);
      delivery.start ??= await chain.waitForHead(HEAD_TIMEOUT_MS);
      if (delivery.start !== undefined) await this.#advance(delivery, delivery.start);
    } catch (error) {
      log.error(causeOf(error), 'following the proven chain failed');
      delivery.hasFailed = true;
    }
  }

  /** The watchers get a gap; delivery begins anew. Those of a later delivery get none. */
  #restart(delivery: Delivery): void {
    if (this.#delivery !== delivery) return;
    delivery.ring.clear();
    Object.assign(delivery, { start: undefined, deliveredAt: clock.now(), hasFailed: false });
    this.#deliver({ removed: [], added: [], hasGap: true });
  }

  #deliver(change: ChainChange): void {
    for (const listener of [...this.#watchers]) if (this.#watchers.has(listener)) listener(change);
  }

  async #advance(delivery: Delivery, start: Header): Promise<void> {
    const { chain, proveHeader } = this.#options;
    const { ring } = delivery;
    const newest = this.#newest();
    const { list } = chain.view.headers;
    const { oldest } = ring.headers;
    if (oldest !== undefined) {
      if ((list[0]?.number ?? oldest.number) < oldest.number)
        ring.prepend(list.filter(({ number }) => number < oldest.number));
    } else if (newest !== undefined) {
      const first = newest.number < start.number ? newest : start;
      ring.extend(
        list.filter(({ number }) => number <= first.number),
        clock.now(),
      );
    }
    if (newest !== undefined && !ring.headers.has(newest.hash)) {
      const begin = list.findLastIndex(({ hash }) => ring.headers.has(hash)) + 1;
      if (begin === 0) {
        this.#restart(delivery);
        return;
      }
      const proven: Header[] = [];
      for (const header of list.slice(begin, list.indexOf(newest) + 1)) {
        const one = await proveHeader(header);
        // It is tried again at the next look.
        if (one === undefined) break;
        proven.push(one);
      }
      const last = proven.at(-1);
      if (last !== undefined) chain.delivered(last.number);
      await chain.whenShared();
      if (this.#delivery !== delivery) return;
      if (proven.length > 0) {
        delivery.deliveredAt = clock.now();
        this.#deliver(ring.extend(proven, delivery.deliveredAt));
      }
    }
    if (this.#isSilent(delivery, start)) this.#restart(delivery);
  }

  /** The newest block of the followed chain that may be delivered: it is witnessed, or has waited. Undefined: none may. */
  #newest(): Header | undefined {
    const { chain, isRequired } = this.#options;
    const { head, headers, witnesses } = chain.view;
    const { needed, block } = witnesses;
    if (needed <= 1) return head;
    const witnessed = block !== undefined && headers.has(block.hash) ? headers.at(block.number) : undefined;
    if (isRequired) return witnessed;
    const followedBy = clock.now() - this.#maxWaitMs;
    return headers.list.findLast((header) => header === witnessed || headers.since(header.number) <= followedBy);
  }

  get #maxWaitMs(): number {
    return Math.max(MAX_WITNESS_WAIT_MS, MAX_WITNESS_WAIT_BLOCKS * (this.#options.chain.view.blockMs ?? 0));
  }

  /** Whether nothing was delivered for long while there are new blocks, or while a head without witnesses is not followed. */
  #isSilent({ ring, deliveredAt }: Delivery, start: Header): boolean {
    const { chain, isRequired } = this.#options;
    const { headers, witnesses } = chain.view;
    const { list } = headers;
    const next = list[list.findLastIndex(({ number, hash }) => number <= start.number || ring.headers.has(hash)) + 1];
    const since = Math.min(
      next === undefined ? Infinity : headers.since(next.number),
      isRequired ? (witnesses.missingSince ?? Infinity) : Infinity,
    );
    return clock.now() - Math.max(since, deliveredAt) >= this.#maxWaitMs + MAX_SILENCE_MS;
  }
}
