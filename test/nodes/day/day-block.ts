/** A block that a geth built. Blocks form a tree through their parents. */
export interface DayBlock {
  readonly number: number;
  readonly hash: string;
  /** Parent; undefined for genesis, which all chains of a day share. */
  readonly parent: DayBlock | undefined;
  readonly timestamp: number;
  /** Increases each time the chain starts again from genesis. */
  readonly generation: number;
  readonly finalized: DayBlock;
  /** Every transaction emits one log. */
  readonly transactions: readonly SignedTransaction[];
  /** The parameters of `engine_newPayloadV4`. */
  readonly payload: readonly unknown[];
}

export interface SignedTransaction {
  readonly raw: string;
  readonly hash: string;
  readonly from: string;
}

export function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

/** The block of a branch at this height; its head, if the height is above it. */
export function ancestorAt(head: DayBlock, number: number): DayBlock {
  let block = head;
  while (block.number > number && block.parent !== undefined) block = block.parent;
  return block;
}

/** Whether a block is in the branch of a head. */
export function includes(head: DayBlock, block: DayBlock): boolean {
  return ancestorAt(head, block.number) === block;
}

/** Whether a block is on another branch than a head. A shorter prefix of the same chain is no other branch. */
export function isRival(head: DayBlock, block: DayBlock): boolean {
  return !includes(head, block) && !includes(block, head);
}

/** Whether a head shows that a block is not in the chain any more. */
export function isReplacedBy(head: DayBlock, block: DayBlock): boolean {
  return isRival(head, block) || (block.number > 0 && head.number > 0 && head.generation !== block.generation);
}

export function commonAncestor(one: DayBlock, other: DayBlock): DayBlock {
  let block = ancestorAt(one, other.number);
  while (!includes(other, block) && block.parent !== undefined) block = block.parent;
  return block;
}

/** The blocks of a branch above a number, oldest first. */
export function blocksAbove(head: DayBlock, number: number): DayBlock[] {
  const blocks: DayBlock[] = [];
  for (let block: DayBlock | undefined = head; block !== undefined && block.number > number; block = block.parent) {
    blocks.unshift(block);
  }
  return blocks;
}

/** The nonce of an account after a block. */
export function nonceAt(head: DayBlock, account: string): number {
  return blocksAbove(head, 0).reduce(
    (sum, { transactions }) => sum + transactions.filter(({ from }) => from === account).length,
    0,
  );
}

/** Texts that identify the logs of a block: the hash of the block, and the index. */
export function logsOf(block: DayBlock): string[] {
  return block.transactions.map((_, index) => logIdentity({ blockHash: block.hash, logIndex: quantity(index) }));
}

export function logIdentity({ blockHash, logIndex }: Readonly<Record<string, unknown>>): string {
  return `${String(blockHash)} ${String(logIndex)}`;
}
