import type { WorkerLink } from '../workers/worker-link.ts';
import type { Absence, ServedBlock } from './chain.ts';
import type { Block } from './header.ts';
import type { FinalTag } from './served-tags.ts';

/** What one worker sees of a network's blocks, for the others. Upstreams have names, and times are ages in ms. */
export type ChainEvent =
  | {
      readonly kind: 'seen';
      readonly upstream: string;
      readonly block: Block & ServedBlock;
      readonly by: 'poll' | 'notification';
      readonly sentMsAgo: number;
    }
  | { readonly kind: 'gone'; readonly upstream: string; readonly why: Absence }
  | { readonly kind: 'subscribed'; readonly upstream: string; readonly isSubscribed: boolean }
  /** The block is final. */
  | { readonly kind: 'final'; readonly number: bigint }
  /** A result of an upstream was disproved. */
  | { readonly kind: 'distrusted' }
  /** The upstream may be on another chain now. */
  | { readonly kind: 'doubtful'; readonly upstream: string }
  /** A worker with watchers sends it in each round. */
  | { readonly kind: 'used'; readonly isWatched: boolean }
  /** The hashes that callers were served, for a new worker. */
  | { readonly kind: 'served-hashes'; readonly hashes: ReadonlyMap<string, string> }
  | ServedEvent;

/** The newest blocks that callers and subscribers were served. */
export interface ServedEvent {
  readonly kind: 'served';
  readonly latest: bigint;
  /** Upstream that returned the latest block; undefined: that was the network's head. */
  readonly upstream: string | undefined;
  /** Time since the latest block was served: a poll since then may have shown that the upstream has it no more. */
  readonly servedMsAgo: number;
  readonly tags: Readonly<Record<FinalTag, bigint>>;
  /** Hashes of objects that callers are served, each with that of its block. */
  readonly hashes?: ReadonlyMap<string, string>;
}

/** The topics of messages about chains: an event, and a request for all that makes up the state of a new worker. */
export const chainTopics = { event: 'chain-event', state: 'chain-state' } as const;

/** A message about the chain of one network. */
export interface ChainMessage {
  /** Identifies the network and its chain: a reload is not at the same moment in all workers. */
  readonly chain: string;
  readonly event: ChainEvent;
}

/** Numbers before the first block is announced, and after a fall. */
const nothing: Omit<ServedEvent, 'kind' | 'upstream' | 'servedMsAgo'> = {
  latest: 0n,
  tags: { safe: -1n, finalized: -1n },
};

/** The pollers of the same chain in the other workers of the machine. */
export class ChainPeers {
  readonly #link: WorkerLink;
  readonly #chain: string;
  /** The newest served blocks that all workers know, or that are being announced. */
  #announced = nothing;
  #announcing: Promise<void> | undefined;
  /** Hashes of the next announcement. */
  #hashes = new Map<string, string>();
  #next: Promise<void> | undefined;

  constructor(link: WorkerLink, slug: string, chainId: number) {
    this.#link = link;
    this.#chain = chainKey(slug, chainId);
  }

  /** Whether this worker polls upstreams, and subscribes at them, for all. */
  get isFirst(): boolean {
    return this.#link.isFirst;
  }

  notify(event: ChainEvent): void {
    this.#link.notify(chainTopics.event, { chain: this.#chain, event } satisfies ChainMessage);
  }

  /** A caller is about to be served the object with this hash, which is sent in the next announcement. */
  addServedHash(hash: string, blockHash: string): void {
    this.#hashes.set(hash, blockHash);
  }

  /**
   * @returns resolves when all others that are current know these blocks and the served hashes, or are not current any more;
   *   undefined: they know them
   */
  whenServedKnown(event: ServedEvent): Promise<void> | undefined {
    if (isAbove(event, this.#announced)) {
      this.#announced = event;
      return this.#announce(event);
    }
    if (this.#hashes.size === 0) return this.#next ?? this.#announcing;
    // Hashes that are served during an announcement share the next one. It has no blocks: the others know them, or have left them.
    return (this.#next ??= Promise.resolve(this.#announcing).then(() => {
      this.#next = undefined;
      return this.#announce({ kind: 'served', ...nothing, upstream: undefined, servedMsAgo: 0 });
    }));
  }

  #announce(event: ServedEvent): Promise<void> {
    const message: ChainMessage = { chain: this.#chain, event: { ...event, hashes: this.#hashes } };
    this.#hashes = new Map();
    const announcing = this.#link.requestOthers(chainTopics.event, message, 'current').then(() => {
      if (this.#announcing === announcing) this.#announcing = undefined;
    });
    this.#announcing = announcing;
    return announcing;
  }

  /**
   * Forgets what is above the newest served blocks: after a fall, the next ones are announced again.
   * @param now the newest served ones
   */
  forgetServedAbove(now: ServedEvent): void {
    if (isAbove(this.#announced, now)) this.#announced = nothing;
  }

  /** Waits as `WorkerLink.whenCurrent`: then the worker knows all blocks that others have served. */
  whenCurrent(): Promise<void> | undefined {
    return this.#link.whenCurrent();
  }
}

/** Whether one of the blocks is newer. */
function isAbove(one: typeof nothing, other: typeof nothing): boolean {
  const { safe, finalized } = other.tags;
  return one.latest > other.latest || one.tags.safe > safe || one.tags.finalized > finalized;
}

export function chainKey(slug: string, chainId: number): string {
  return `${slug}:${chainId}`;
}
