import type { MethodSpec } from '../spec/method-spec.ts';

/** What a node said it lacks it may have fetched by then. */
const MISSING_TTL_MS = 600_000;
const METHODS_MAX = 500;
/** Blocks whose state every node keeps: geth's number for those that are no archives. */
const RECENT_BLOCKS = 128;

/** The blocks that a call is about. */
export interface NamedBlocks {
  readonly lowest: number;
  readonly highest: number;
  /** The state after them is meant, which few nodes keep for long. */
  readonly readsState: boolean;
  /** It goes up to the block of this tag. */
  readonly tag?: Tag | undefined;
}

/** Tags that move on. */
export type Tag = 'latest' | 'safe' | 'finalized';

/** How far upstreams have come. Of one that was not looked at nothing is known: it has every block. */
export interface HeadPositions<U> {
  readonly number: bigint | undefined;
  readonly pace: { readonly maxLag: number };
  /** Blocks that it was behind the network's head. */
  lagOf(upstream: U): number;
  hasBlock(upstream: U, number: bigint): boolean;
  /** Whether a block is among the network's newest. */
  has(hash: string): boolean;
}

/** Which blocks an upstream lacks, as far as it has said so, by method: few keep the states that they keep blocks of. */
export class AvailableBlocks {
  readonly #isArchive: boolean;
  readonly #isMissing = new Map<string, { readonly upTo: number; readonly deadline: number }>();

  #missingHistoryUntil = -Infinity;

  constructor(isArchive: boolean) {
    this.#isArchive = isArchive;
  }

  get isArchive(): boolean {
    return this.#isArchive;
  }

  /** It said that it lacks what the call is about. @param head the network's */
  recordMissing(method: string, { lowest }: NamedBlocks, head: bigint | undefined, now: number): void {
    // A new block it only has not heard of yet.
    if (this.#isArchive || head === undefined || !isOld(lowest, head) || this.#isMissing.size >= METHODS_MAX) return;
    const entry = this.#isMissing.get(method);
    // Asked as a last resort: of the blocks between, this says nothing.
    if (entry !== undefined && entry.upTo > lowest && now < entry.deadline) return;
    this.#isMissing.set(method, { upTo: lowest, deadline: now + MISSING_TTL_MS });
  }

  /** It said that it does not have a part of the chain. */
  recordMissingHistory(now: number): void {
    this.#missingHistoryUntil = now + MISSING_TTL_MS;
  }

  /** Whether it said of late that it does not have all of the chain, or has not indexed it. */
  get isMissingHistory(): boolean {
    return performance.now() < this.#missingHistoryUntil;
  }

  isMissing(method: string, { lowest }: NamedBlocks, now: number): boolean {
    const entry = this.#isMissing.size === 0 ? undefined : this.#isMissing.get(method);
    return entry !== undefined && lowest <= entry.upTo && now < entry.deadline;
  }
}

/** Whether nodes that are no archives have dropped the state after it. */
export function isOld(block: number, head: bigint): boolean {
  return block <= Number(head) - RECENT_BLOCKS;
}

/** Undefined where it names none by its number or by a tag that moves on: by a hash, by nothing that is known. */
export function blocksNamedBy({ blockAt }: MethodSpec, params: readonly unknown[]): NamedBlocks | undefined {
  if (blockAt === undefined) return undefined;
  const given = params[blockAt.param];
  const { readsState = false } = blockAt;
  if (typeof given !== 'object' || given === null) return between(given, given, readsState);
  const { blockHash, blockNumber, fromBlock, toBlock } = given as Readonly<Record<string, unknown>>;
  return blockHash === undefined ? between(fromBlock ?? blockNumber, toBlock ?? blockNumber, readsState) : undefined;
}

function between(from: unknown, to: unknown, readsState: boolean): NamedBlocks | undefined {
  const lowest = numberOf(from);
  const highest = numberOf(to);
  const tag = highest === undefined ? tagOf(to) : undefined;
  if (lowest === undefined && tag !== undefined) return tagged[tag];
  if (lowest === undefined && highest === undefined) return undefined;
  return { lowest: lowest ?? Infinity, highest: highest ?? -Infinity, readsState, tag };
}

/** One for all calls. */
const tagged: Readonly<Record<Tag, NamedBlocks>> = {
  latest: upTo('latest'),
  safe: upTo('safe'),
  finalized: upTo('finalized'),
};

function upTo(tag: Tag): NamedBlocks {
  return { lowest: Infinity, highest: -Infinity, readsState: false, tag };
}

/** What is pending stands on the latest, which is also what is meant where nothing is said. Undefined: no tag. */
function tagOf(block: unknown): Tag | undefined {
  if (block === 'safe' || block === 'finalized') return block;
  return block === 'latest' || block === 'pending' || block === undefined || block === null ? 'latest' : undefined;
}

function numberOf(block: unknown): number | undefined {
  if (block === 'earliest') return 0;
  // A hash is longer.
  return typeof block === 'string' && block.startsWith('0x') && block.length < 66 ? Number(block) : undefined;
}
