import type { ChainView } from '../chain/view.ts';
import { clock } from '../clock/clock.ts';
import { isOld } from '../routing-policy/candidate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

/** Time after which the node may have fetched the missing blocks. */
const MISSING_TTL_MS = 600_000;
const MAX_METHODS = 500;

/** The block range that a call names. */
export interface NamedBlocks {
  readonly lowest: number;
  readonly highest: number;
  /** The call reads the state after the blocks, which most nodes prune. */
  readonly readsState: boolean;
  /** The upper end of the range, if it is a tag. */
  readonly tag?: Tag | undefined;
}

/** Tags whose block changes. */
export type Tag = 'latest' | 'safe' | 'finalized';

/**
 * Records which blocks one upstream does not have, from its errors. The records are per method, because a node may have
 * a block but not its state.
 */
export class AvailableBlocks {
  readonly #isArchive: boolean;
  readonly #missing = new Map<string, { readonly upTo: number; readonly deadline: number }>();

  #missingHistoryUntil = -Infinity;

  constructor(isArchive: boolean) {
    this.#isArchive = isArchive;
  }

  get isArchive(): boolean {
    return this.#isArchive;
  }

  /** Records an error about missing data. @param head of the network */
  recordMissing(method: string, { lowest }: NamedBlocks, head: bigint | undefined, now: number): void {
    // A new block is missing only until the upstream imports it.
    if (this.#isArchive || head === undefined || !isOld(lowest, Number(head)) || this.#missing.size >= MAX_METHODS)
      return;
    const entry = this.#missing.get(method);
    // The entry covers this block already. A last-resort call shows nothing about the blocks between.
    if (entry !== undefined && entry.upTo > lowest && now < entry.deadline) return;
    this.#missing.set(method, { upTo: lowest, deadline: now + MISSING_TTL_MS });
  }

  /** Records an error of a lookup by hash, which shows that some blocks are missing or not indexed. */
  recordMissingHistory(now: number): void {
    this.#missingHistoryUntil = now + MISSING_TTL_MS;
  }

  /** Whether part of the chain was missing or not indexed in the last 10 minutes. */
  get isMissingHistory(): boolean {
    return clock.now() < this.#missingHistoryUntil;
  }

  isMissing(method: string, { lowest }: NamedBlocks, now: number): boolean {
    const entry = this.#missing.size === 0 ? undefined : this.#missing.get(method);
    return entry !== undefined && lowest <= entry.upTo && now < entry.deadline;
  }
}

/** The block of a read at `latest`. */
export const latestBlock: NamedBlocks = upTo('latest');

/** Whether calls of the method may name a tag: `blocksNamedBy` never returns one otherwise. */
export function mayNameTag({ blockAt, cache, isPassThrough }: MethodSpec): boolean {
  return blockAt !== undefined || cache === 'head' || isPassThrough === true;
}

/**
 * Blocks of a call; undefined if it names its block by hash, or in a form that is not a number or tag, or if it needs no
 * block.
 */
export function blocksNamedBy(
  { blockAt, cache, isPassThrough }: MethodSpec,
  params: readonly unknown[],
): NamedBlocks | undefined {
  // The meaning of its parameters is not known, but hardly any other text is a tag.
  if (isPassThrough === true && blockAt === undefined)
    return params.includes('latest') || params.includes('pending') ? latestBlock : undefined;
  if (blockAt === undefined) return cache === 'head' ? latestBlock : undefined;
  const given = params[blockAt.param];
  const { readsState = false } = blockAt;
  if (typeof given !== 'object' || given === null) return between(given, given, readsState);
  const { blockHash, blockNumber, fromBlock, toBlock } = given as Readonly<Record<string, unknown>>;
  return blockHash === undefined ? between(fromBlock ?? blockNumber, toBlock ?? blockNumber, readsState) : undefined;
}

/** The hash of the block that the call names, if it does so by hash. */
export function hashNamedBy({ blockAt, looksUpHash }: MethodSpec, params: readonly unknown[]): string | undefined {
  const given = blockAt === undefined ? (looksUpHash === true ? params[0] : undefined) : params[blockAt.param];
  const hash =
    typeof given === 'object' && given !== null ? (given as { readonly blockHash?: unknown }).blockHash : given;
  return typeof hash === 'string' && hash.length === 66 ? hash : undefined;
}

/** The block that the call names by its hash, if the view has it. The hash in a lookup of a transaction is not that of a block. */
export function blockOfHash(
  view: Pick<ChainView<never>, 'numberOf'>,
  method: MethodSpec,
  params: readonly unknown[],
): NamedBlocks | undefined {
  const hash = method.tracks?.of === 'transaction' ? undefined : hashNamedBy(method, params);
  const number = hash === undefined ? undefined : view.numberOf(hash);
  if (number === undefined) return undefined;
  return { lowest: Number(number), highest: Number(number), readsState: method.blockAt?.readsState === true };
}

function between(from: unknown, to: unknown, readsState: boolean): NamedBlocks | undefined {
  const lowest = numberOf(from);
  const highest = to === from ? lowest : numberOf(to);
  const tag = highest === undefined ? tagOf(to) : undefined;
  if (lowest === undefined && tag !== undefined) return tagged[tag];
  if (lowest === undefined && highest === undefined) return undefined;
  return { lowest: lowest ?? Infinity, highest: highest ?? -Infinity, readsState, tag };
}

/** Blocks of the tags, shared by all calls, to save allocations. */
const tagged: Readonly<Record<Tag, NamedBlocks>> = {
  latest: latestBlock,
  safe: upTo('safe'),
  finalized: upTo('finalized'),
};

function upTo(tag: Tag): NamedBlocks {
  return { lowest: Infinity, highest: -Infinity, readsState: false, tag };
}

/** `pending` builds on the latest block, which is also the default. Undefined: not a tag. */
function tagOf(block: unknown): Tag | undefined {
  if (block === 'safe' || block === 'finalized') return block;
  return block === 'latest' || block === 'pending' || block === undefined || block === null ? 'latest' : undefined;
}

function numberOf(block: unknown): number | undefined {
  if (block === 'earliest') return 0;
  // Of pass-through methods: Otterscan sends JSON numbers.
  if (typeof block === 'number') return Number.isSafeInteger(block) && block >= 0 ? block : undefined;
  // 66 characters or more are a hash.
  return typeof block === 'string' && block.startsWith('0x') && block.length < 66 ? Number(block) : undefined;
}
