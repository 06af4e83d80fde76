import { createHash } from 'node:crypto';

/** A block of a scripted chain. Blocks form a tree through their parents; only a reorg or a restart makes branches. */
export interface TrueBlock {
  readonly number: number;
  readonly hash: string;
  readonly parent: TrueBlock | undefined;
  /** Unix time in seconds. */
  readonly timestamp: number;
  /** Numbers of the blocks with the tags `safe` and `finalized` when this block is the head. */
  readonly safe: number;
  readonly finalized: number;
  readonly logCount: number;
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

export const logAddresses = [
  '0xaa00000000000000000000000000000000000000',
  '0xaa00000000000000000000000000000000000001',
];

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

function makeBlock(
  parent: TrueBlock | undefined,
  salt: string,
  timestamp: number,
  safe: number,
  finalized: number,
): TrueBlock {
  const number = parent === undefined ? 0 : parent.number + 1;
  const hash = hashOf(`${parent?.hash ?? ''} ${salt}`);
  const transactions = [hashOf(`transaction ${number}`), hashOf(`transaction of ${hash}`)] as const;
  const logCount = number === 0 ? 0 : Number.parseInt(hash.slice(2, 4), 16) % (MAX_LOGS + 1);
  return { number, hash, parent, timestamp, safe, finalized, logCount, transactions };
}

/** The block of a branch at this height. Undefined above its head. */
export function ancestorAt(head: TrueBlock, number: number): TrueBlock | undefined {
  let block: TrueBlock | undefined = head.number < number ? undefined : head;
  while (block !== undefined && block.number > number) block = block.parent;
  return block;
}

/** Whether a block is the head of a branch or below it. */
export function includes(head: TrueBlock, block: TrueBlock): boolean {
  return ancestorAt(head, block.number) === block;
}

/** The newest block of both branches. */
export function commonAncestor(one: TrueBlock, other: TrueBlock): TrueBlock {
  let [a, b] = [one, other];
  while (a !== b) {
    const previous = a.number > b.number ? a.parent : b.parent;
    if (previous === undefined) throw new Error('the branches have different genesis blocks');
    if (a.number > b.number) a = previous;
    else b = previous;
  }
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

export function addressOf(logIndex: number): string {
  return logAddresses[logIndex % logAddresses.length] ?? '';
}
