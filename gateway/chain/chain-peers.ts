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
  /** This block is final. */
  | { readonly kind: 'final'; readonly number: bigint }
  /** A result of an upstream was disproved. */
  | { readonly kind: 'distrusted' }
  /** The upstream may be on another chain now. */
  | { readonly kind: 'doubtful'; readonly upstream: string }
  /** A worker with watchers sends it in each round. */
  | { readonly kind: 'used'; readonly isWatched: boolean }
  | ServedEvent;

/** The newest blocks that callers and subscribers were served. */
export interface ServedEvent {
  readonly kind: 'served';
  readonly latest: bigint;
  /** It returned that block; undefined: that was the network's head. */
  readonly upstream: string | undefined;
  readonly tags: Readonly<Record<FinalTag, bigint>>;
}

/** The topics of messages about chains: an event, a request for all that makes up the state of a new worker, and a question. */
export const chainTopics = { event: 'chain-event', state: 'chain-state', servedBlocks: 'chain-served-blocks' } as const;

/** A message about the chain of one network. */
export interface ChainMessage {
  /** Identifies the network and its chain: a reload is not at the same moment in all workers. */
  readonly chain: string;
  readonly event: ChainEvent;
}

/** Asks for the blocks of which callers were served the objects with these hashes. */
export interface ServedBlocksQuestion {
  readonly chain: string;
  /** True: the hash may be that of a block, which counts as served if it is followed. */
  readonly hashes: ReadonlyMap<string, boolean>;
}

/** The hash of the block by the hash of its object. */
export type ServedBlocks = ReadonlyMap<string, string>;

/** Before the first block is announced, and after a fall. */
const nothing: Omit<ServedEvent, 'kind' | 'upstream'> = { latest: 0n, tags: { safe: -1n, finalized: -1n } };

/** The pollers of the same chain in the other workers of the machine. */
export class ChainPeers {
  readonly #link: WorkerLink;
  readonly #chain: string;
  /** The newest served blocks that all workers know, or that are being announced. */
  #announced = nothing;
  #announcing: Promise<void> | undefined;
  /** Hashes of the next question. */
  #wanted = new Map<string, boolean>();
  #next: Promise<readonly ServedBlocks[]> | undefined;
  #asking: Promise<readonly ServedBlocks[]> | undefined;

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

  /** @returns resolves when all others that are current know these blocks, or are not current any more; undefined: they know them */
  whenServedKnown(event: ServedEvent): Promise<void> | undefined {
    if (!isAbove(event, this.#announced)) return this.#announcing;
    this.#announced = event;
    const message: ChainMessage = { chain: this.#chain, event };
    const announcing = this.#link.requestOthers(chainTopics.event, message, 'current').then(() => {
      if (this.#announcing === announcing) this.#announcing = undefined;
    });
    this.#announcing = announcing;
    return announcing;
  }

  /** After a fall, the next served blocks are announced again. @param now the newest served ones */
  forgetServedAbove(now: ServedEvent): void {
    if (isAbove(this.#announced, now)) this.#announced = nothing;
  }

  /** As `WorkerLink.whenCurrent`: then the worker knows all blocks that others have served. */
  whenCurrent(): Promise<void> | undefined {
    return this.#link.whenCurrent();
  }

  /**
   * The blocks of which other workers have served the object with this hash. There is one question at a time: what is wanted
   * meanwhile is in the next one.
   */
  async servedElsewhere(hash: string, isBlock: boolean): Promise<readonly string[]> {
    this.#wanted.set(hash, isBlock);
    this.#next ??= this.#ask();
    const answers = await this.#next;
    return answers.flatMap((blocks) => blocks.get(hash) ?? []);
  }

  async #ask(): Promise<readonly ServedBlocks[]> {
    await this.#asking;
    const question: ServedBlocksQuestion = { chain: this.#chain, hashes: this.#wanted };
    this.#wanted = new Map();
    this.#next = undefined;
    const { servedBlocks: topic } = chainTopics;
    this.#asking = this.#link.requestOthers(topic, question) as Promise<readonly ServedBlocks[]>;
    return this.#asking;
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
