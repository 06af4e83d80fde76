import { addressOf, hashOf, logsOf, type TrueBlock, type TrueLog } from './true-chain.ts';

/** The objects that nodes return. Values that the state has at a block identify the block. */
export type JsonObject = Readonly<Record<string, unknown>>;

const zeroHash = `0x${'0'.repeat(64)}`;
const topic = hashOf('topic');
const account = '0xcc00000000000000000000000000000000000000';

export function quantity(number: number | bigint): string {
  return `0x${number.toString(16)}`;
}

function bloomOf({ logCount }: TrueBlock): string {
  return `0x${(logCount === 0 ? '0' : 'f').repeat(512)}`;
}

/** A header as in a newHeads notification. */
export function headerObject(block: TrueBlock): JsonObject {
  return {
    ...{ number: quantity(block.number), hash: block.hash, parentHash: block.parent?.hash ?? zeroHash },
    ...{ nonce: '0x0000000000000000', sha3Uncles: zeroHash, logsBloom: bloomOf(block), miner: account },
    ...{ transactionsRoot: zeroHash, stateRoot: block.hash, receiptsRoot: zeroHash, mixHash: zeroHash },
    ...{ difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', gasUsed: '0xa410', baseFeePerGas: '0x7' },
    timestamp: quantity(block.timestamp),
  };
}

export function blockObject(block: TrueBlock): JsonObject {
  return { ...headerObject(block), size: '0x400', uncles: [], transactions: block.transactions };
}

export function logObject({ block, index }: TrueLog): JsonObject {
  return {
    ...{ address: addressOf(index), topics: [topic], data: block.hash, removed: false, logIndex: quantity(index) },
    ...{ blockNumber: quantity(block.number), blockHash: block.hash, blockTimestamp: quantity(block.timestamp) },
    ...{ transactionHash: block.transactions[0], transactionIndex: '0x0' },
  };
}

/** @param index of the transaction in its block; the first has all the logs */
export function receiptObject(block: TrueBlock, index: number): JsonObject {
  return {
    ...{ transactionHash: block.transactions[index], transactionIndex: quantity(index), status: '0x1', type: '0x2' },
    ...{ blockNumber: quantity(block.number), blockHash: block.hash, from: account, to: addressOf(0) },
    ...{ cumulativeGasUsed: quantity(21_000 * (index + 1)), gasUsed: '0x5208', effectiveGasPrice: '0x7' },
    ...{ contractAddress: null, logsBloom: bloomOf(block), logs: index === 0 ? logsOf(block).map(logObject) : [] },
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
