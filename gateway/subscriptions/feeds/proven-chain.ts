import type { Header } from '../../chain/header.ts';
import { HeaderRing, type ChainChange } from '../../chain/header-ring.ts';
import type { ChainPoller } from '../../chain/poller.ts';
import type { ChainView } from '../../chain/view.ts';
import { clock } from '../../clock/clock.ts';
import type { Unsubscribe } from './subscriber.ts';

/** As many as the followed chain has. */
const MAX_HEADERS = 512;
const HEAD_TIMEOUT_MS = 10_000;
/** Longest time between two looks at the followed chain. */
const MAX_LOOK_MS = 1_000;
/** Without `require`, a head waits for its witnesses for this time, and for at least so many block times: a lone branch is left by then. */
const MAX_WITNESS_WAIT_MS = 15_000;
const MAX_WITNESS_WAIT_BLOCKS = 4;

export interface ProvenChainOptions {
  readonly chain: Pick<ChainPoller, 'watch' | 'waitForHead' | 'waitForNews' | 'whenShared'> & {
    readonly view: Pick<ChainView<unknown>, 'head' | 'headers' | 'witnesses' | 'blockMs'>;
  };
  /** Blocks without witnesses are never delivered. */
  readonly isRequired: boolean;
  /** A header whose hash is proven. Undefined: it is wrong, or is not proven and must be. Never rejects. */
  readonly proveHeader: (header: Header) => Promise<Header | undefined>;
}

/** The part of the followed chain that is witnessed, with headers that have their hash. It has its own reorgs. */
export class ProvenChain {
  readonly #options: ProvenChainOptions;
  readonly #watchers = new Set<(change: ChainChange) => void>();
  /** The delivered blocks. Undefined: there are no watchers. */
  #ring: HeaderRing | undefined;
  /** The newest witnessed block at the last look, and when it last changed or was the head. */
  #witnessed: string | undefined;
  #witnessedAt = -Infinity;

  constructor(options: ProvenChainOptions) {
    this.#options = options;
  }

  /** As that of the followed chain. @param listener must not throw */
  watch(listener: (change: ChainChange) => void): Unsubscribe {
    this.#watchers.add(listener);
    if (this.#ring === undefined) void this.#follow((this.#ring = new HeaderRing(MAX_HEADERS)));
    return () => {
      this.#watchers.delete(listener);
      if (this.#watchers.size === 0) this.#ring = undefined;
    };
  }

  /** Never rejects. */
  async #follow(ring: HeaderRing): Promise<void> {
    const { chain } = this.#options;
    const unwatch = chain.watch(() => undefined);
    this.#witnessedAt = clock.now();
    let start: Header | undefined;
    while (this.#ring === ring && start === undefined) start = await chain.waitForHead(HEAD_TIMEOUT_MS);
    while (this.#ring === ring && start !== undefined) {
      const news = chain.waitForNews(MAX_LOOK_MS);
      await this.#advance(ring, start);
      await news;
    }
    unwatch();
  }

  /** @param start the head when the first watcher came: delivery begins after it, or after the block that is witnessed then */
  async #advance(ring: HeaderRing, start: Header): Promise<void> {
    const { chain, proveHeader } = this.#options;
    const newest = this.#newest();
    if (newest === undefined) return;
    const { list } = chain.view.headers;
    const { oldest } = ring.headers;
    if (oldest === undefined) {
      const first = newest.number < start.number ? newest : start;
      ring.extend(
        list.filter(({ number }) => number <= first.number),
        clock.now(),
      );
    } else if ((list[0]?.number ?? oldest.number) < oldest.number)
      ring.prepend(list.filter(({ number }) => number < oldest.number));
    if (ring.headers.has(newest.hash)) return;
    const end = list.indexOf(newest) + 1;
    const begin = list.findLastIndex(({ hash }, at) => at < end && ring.headers.has(hash)) + 1;
    const proven: Header[] = [];
    for (const header of begin === 0 ? [] : list.slice(begin, end)) {
      const one = await proveHeader(header);
      // It is tried again at the next look.
      if (one === undefined) break;
      proven.push(one);
    }
    await chain.whenShared();
    if (this.#ring !== ring || (begin > 0 && proven.length === 0)) return;
    const change = begin === 0 ? ring.restartAt(newest, clock.now()) : ring.extend(proven, clock.now());
    for (const listener of [...this.#watchers]) if (this.#watchers.has(listener)) listener(change);
  }

  /** The newest block of the followed chain that is delivered. Undefined: no witnessed block is in it. */
  #newest(): Header | undefined {
    const { chain, isRequired } = this.#options;
    const { head, headers, witnesses, blockMs = 0 } = chain.view;
    const { needed, block } = witnesses;
    if (needed <= 1) return head;
    const now = clock.now();
    if (block?.hash !== this.#witnessed || block?.hash === head?.hash) this.#witnessedAt = now;
    this.#witnessed = block?.hash;
    const maxWaitMs = Math.max(MAX_WITNESS_WAIT_MS, MAX_WITNESS_WAIT_BLOCKS * blockMs);
    if (!isRequired && now - this.#witnessedAt >= maxWaitMs) return head;
    return block !== undefined && headers.has(block.hash) ? headers.at(block.number) : undefined;
  }
}
