import type { WorkerLink } from '../workers/worker-link.ts';
import type { Absence, ServedBlock } from './chain.ts';
import type { Block } from './header.ts';
import type { FinalTag } from './view.ts';

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
export const chainTopics = { event: 'chain-event', state: 'chain-state', servedBlock: 'chain-served-block' } as const;

/** A message about the chain of one network. */
export interface ChainMessage {
  /** Identifies the network and its chain: a reload is not at the same moment in all workers. */
  readonly chain: string;
  readonly event: ChainEvent;
}

/** Asks for the block of which callers were served the object with this hash. */
export interface ServedBlockQuestion {
  readonly chain: string;
  readonly hash: string;
}

/** The pollers of the same chain in the other workers of the machine. */
export class ChainPeers {
  readonly #link: WorkerLink;
  readonly #chain: string;

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

  /** Resolves when all others have handled the event. */
  async announce(event: ServedEvent): Promise<void> {
    await this.#link.requestOthers(chainTopics.event, { chain: this.#chain, event } satisfies ChainMessage);
  }

  /** The hash of the block of which another worker has served the object, or which it has served. */
  async servedBlockOf(hash: string): Promise<string | undefined> {
    const question: ServedBlockQuestion = { chain: this.#chain, hash };
    const [block] = await this.#link.requestOthers(chainTopics.servedBlock, question);
    return block as string | undefined;
  }
}

export function chainKey(slug: string, chainId: number): string {
  return `${slug}:${chainId}`;
}
