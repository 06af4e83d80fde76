import { addressOf, logMembers, quantity, receiptMembers, sender, transactionMembers } from './block-parts.ts';
import { logsOf, type TrueBlock, type TrueLog } from './true-chain.ts';

/** The objects that nodes return. Values that the state has at a block identify the block. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A header as in a newHeads notification. */
export function headerObject(block: TrueBlock): JsonObject {
  return { ...block.header, hash: block.hash };
}

export function blockObject(block: TrueBlock, hasTransactions = false): JsonObject {
  const transactions = hasTransactions ? [0, 1].map((index) => transactionObject(block, index)) : block.transactions;
  return { ...headerObject(block), size: '0x400', uncles: [], transactions };
}

function transactionObject(block: TrueBlock, index: number): JsonObject {
  const input = block.inputs[index] ?? '';
  return {
    ...{ ...transactionMembers(input), hash: block.transactions[index], from: sender },
    ...{ blockNumber: quantity(block.number), blockHash: block.hash, transactionIndex: quantity(index) },
  };
}

export function logObject({ block, index }: TrueLog): JsonObject {
  return {
    ...{ ...logMembers(block, index), removed: false, logIndex: quantity(index) },
    ...{ blockNumber: quantity(block.number), blockHash: block.hash, blockTimestamp: quantity(block.timestamp) },
    ...{ transactionHash: block.transactions[0], transactionIndex: '0x0' },
  };
}

/** @param index of the transaction in its block; the first has all the logs */
export function receiptObject(block: TrueBlock, index: number): JsonObject {
  return {
    ...{ ...receiptMembers(block, index), transactionHash: block.transactions[index] },
    ...{ transactionIndex: quantity(index), blockNumber: quantity(block.number), blockHash: block.hash },
    ...{ from: sender, to: addressOf(0), gasUsed: '0x5208', effectiveGasPrice: '0x7' },
    ...{ contractAddress: null, logs: index === 0 ? logsOf(block).map(logObject) : [] },
  };
}

/** A balance: the number of the block, and eight bytes of its hash. */
export function balanceAt({ number, hash }: TrueBlock): string {
  return quantity((BigInt(number) << 64n) + BigInt(hash.slice(0, 18)));
}

/** The result of eth_call: the hash of the block. */
export function callResultAt({ hash }: TrueBlock): string {
  return hash;
}

/** The bytes of debug_getRawBlock: here the hash of the block. */
export function rawBlock({ hash }: TrueBlock): string {
  return hash;
}
