import { createHash } from 'node:crypto';
import {
  addressOf,
  hashOfHeader,
  hashOfTransaction,
  headerMembers,
  logAddresses,
  type BlockFacts,
  type Members,
} from './block-parts.ts';

/** A block of a scripted chain. Blocks form a tree through their parents; only a reorg or a restart makes branches. */
export interface TrueBlock extends BlockFacts {
  readonly hash: string;
  /** Members of the header, without the hash. */
  readonly header: Members;
  readonly parent: TrueBlock | undefined;
  /** Numbers of the blocks with the tags `safe` and `finalized` when this block is the head. */
  readonly safe: number;
  readonly finalized: number;
  /** A block below it whose height is a multiple of 64, so that a low block is found in few steps. */
  readonly below: TrueBlock | undefined;
  /** The first transaction is also in the block of the same height on another branch, the second is in no other block. */
  readonly transactions: readonly [string, string];
}

export interface TrueLog {
  readonly block: TrueBlock;
  readonly index: number;
}

/** Reorgs replace at most this many blocks, so that they never replace a safe or finalized block. */
export const MAX_REORG_BLOCKS = 30;
const SAFE_DISTANCE = MAX_REORG_BLOCKS + 1;
const FINALIZED_DISTANCE = MAX_REORG_BLOCKS + 10;
const MAX_LOGS = 3;
/** Blocks between two of those that are found in few steps. */
const STEP = 64;

/** Blocks by their hashes and those of their transactions. */
const blocksWith = new Map<string, readonly TrueBlock[]>();

/** The log filters that callers use: all logs, or those of one address. */
export const logFilters: readonly { readonly address?: string }[] = [
  {},
  ...logAddresses.map((address) => ({ address })),
];

/** A hash of 32 bytes. */
export function hashOf(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

export function makeGenesis(timestamp: number): TrueBlock {
  return makeBlock(undefined, 'genesis', timestamp, 0, 0);
}

/**
 * Makes a child of a block.
 * @param salt differs for the children of one parent
 * @param head the head until now, whose safe and finalized blocks stay so. Undefined: the chain starts again from genesis
 */
export function mineBlock(parent: TrueBlock, salt: string, timestamp: number, head?: TrueBlock): TrueBlock {
  const number = parent.number + 1;
  const safe = Math.max(number - SAFE_DISTANCE, head?.safe ?? 0);
  return makeBlock(parent, salt, timestamp, safe, Math.max(number - FINALIZED_DISTANCE, head?.finalized ?? 0));
}

/** Makes a child of a block with so many logs, whose chain is final. */
export function appendBlock(parent: TrueBlock, logCount: number): TrueBlock {
  const number = parent.number + 1;
  return makeBlock(parent, '', parent.timestamp + 1, number, number, logCount);
}

function makeBlock(
  parent: TrueBlock | undefined,
  salt: string,
  timestamp: number,
  safe: number,
  finalized: number,
  fixedLogCount?: number,
): TrueBlock {
  const number = parent === undefined ? 0 : parent.number + 1;
  const state = hashOf(`${parent?.hash ?? ''} ${salt}`);
  const inputs = [hashOf(`transaction ${number}`), hashOf(`transaction of ${state}`)] as const;
  const logCount = fixedLogCount ?? (number === 0 ? 0 : Number.parseInt(state.slice(2, 4), 16) % (MAX_LOGS + 1));
  const facts = { number, parent, timestamp, state, logCount, inputs };
  const transactions = [hashOfTransaction(inputs[0]), hashOfTransaction(inputs[1])] as const;
  const header = headerMembers(facts);
  const below = parent === undefined || parent.number % STEP === 0 ? parent : parent.below;
  const block = { ...facts, header, hash: hashOfHeader(header), safe, finalized, below, transactions };
  for (const hash of [block.hash, ...transactions]) blocksWith.set(hash, [...(blocksWith.get(hash) ?? []), block]);
  return block;
}

/** The block of a branch that has this hash, or a transaction with it. */
export function findBlock(head: TrueBlock, hash: string): TrueBlock | undefined {
  return blocksWith.get(hash)?.find((block) => includes(head, block));
}

/** The block of a branch at this height. Undefined above its head. */
export function ancestorAt(head: TrueBlock, number: number): TrueBlock | undefined {
  let block: TrueBlock | undefined = head.number < number ? undefined : head;
  while (block !== undefined && block.number > number)
    block = block.below !== undefined && block.below.number >= number ? block.below : block.parent;
  return block;
}

/** Whether a block is the head of a branch or below it. */
export function includes(head: TrueBlock, block: TrueBlock): boolean {
  return ancestorAt(head, block.number) === block;
}

/** The newest block of both branches. */
export function commonAncestor(one: TrueBlock, other: TrueBlock): TrueBlock {
  const height = Math.min(one.number, other.number);
  let [a, b] = [ancestorAt(one, height), ancestorAt(other, height)];
  while (a !== b) {
    const isBelow = a?.below === b?.below;
    [a, b] = isBelow ? [a?.parent, b?.parent] : [a?.below, b?.below];
  }
  if (a === undefined) throw new Error('the branches have different genesis blocks');
  return a;
}

/** The blocks of a branch from one height to another, oldest first. */
export function blocksBetween(head: TrueBlock, from: number, to: number): TrueBlock[] {
  const blocks: TrueBlock[] = [];
  let block = ancestorAt(head, Math.min(to, head.number));
  for (; block !== undefined && block.number >= from; block = block.parent) blocks.push(block);
  return blocks.reverse();
}

/** The logs of a block. @param address undefined: of all addresses */
export function logsOf(block: TrueBlock, address?: string): TrueLog[] {
  return Array.from({ length: block.logCount }, (_, index) => ({ block, index })).filter(
    ({ index }) => address === undefined || addressOf(index) === address,
  );
}
