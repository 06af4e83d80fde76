import { blockHash, largeBlock } from './large-block.ts';

/**
 * A call and its result, as JSON texts. Each call has twelve unique hexadecimal digits in place of `SLOT`, so that no two
 * calls are equal and no response matches another call.
 */
export interface CallKind {
  readonly method: string;
  readonly params: string;
  readonly result: string;
}

export const SLOT = 'beef00000000';

/** The text that replaces `SLOT` in the call with this number. */
export function slotOf(number: number): string {
  return `beef${(0x10000000 + number).toString(16)}`;
}

const word = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;
const own = `0x${SLOT.padStart(64, '0')}`;
const kind = (method: string, params: unknown[], result: unknown): CallKind => {
  return { method, params: JSON.stringify(params), result: JSON.stringify(result) };
};

const block = {
  ...{ ...largeBlock, totalDifficulty: '0x0', size: '0x400' },
  transactions: [word('b'), word('c'), word('d')],
};
const place = { blockHash, blockNumber: '0x10', transactionIndex: '0x1' };
const parties = { from: address('1'), to: address('2') };
const log = {
  ...{ ...place, address: address('3'), data: word('0'), logIndex: '0x0', removed: false, transactionHash: own },
  topics: [word('7'), word('8'), word('9')],
};
const receipt = {
  ...{ ...place, ...parties, transactionHash: own, contractAddress: null, cumulativeGasUsed: '0x5208' },
  ...{ effectiveGasPrice: '0x3b9aca00', gasUsed: '0x5208', logs: [log], status: '0x1', type: '0x2' },
  logsBloom: `0x${'0'.repeat(512)}`,
};
const call = { ...parties, data: `0xa9059cbb${own.slice(2)}` };
const fee = {
  ...{ gas_limit: `0x${SLOT}`, gas_per_pubdata_limit: '0xc350', max_fee_per_gas: '0x2b275d0' },
  max_priority_fee_per_gas: '0x0',
};

const storage = kind('eth_getStorageAt', [address('2'), `0x${SLOT}`, 'latest'], own);
const finalStorage = kind('eth_getStorageAt', [address('2'), `0x${SLOT}`, '0x10'], own);
const receiptOf = kind('eth_getTransactionReceipt', [own], receipt);
const estimate = kind('eth_estimateGas', [call], `0x${SLOT}`);
const transaction = kind('eth_getTransactionByHash', [own], { ...largeBlock.transactions[0], hash: own });
const smallBlock = kind('eth_getBlockByHash', [own, false], { ...block, hash: own });
const uncle = kind('eth_getUncleByBlockHashAndIndex', [own, '0x0'], {
  ...block,
  transactions: undefined,
  mixHash: own,
});
const estimateFee = kind('zks_estimateFee', [call], fee);
const wholeBlock = kind('eth_getBlockByHash', [own, true], { ...largeBlock, hash: own });

/** Sent in this order, repeatedly. A wallet mostly reads state, waits for receipts and estimates; blocks are rare. */
// prettier-ignore
export const walletMix = [
  storage, receiptOf, estimate, storage, transaction, storage, receiptOf, smallBlock, estimate, storage,
  receiptOf, storage, transaction, estimateFee, storage, receiptOf, estimate, storage, transaction, uncle,
];

/** Calls about final blocks, whose responses may be cached without expiry. */
export const finalMix = [finalStorage, receiptOf, finalStorage, transaction, finalStorage, receiptOf, smallBlock];

export const wholeBlocks = [wholeBlock];

export const ethCalls = [kind('eth_call', [call, 'latest'], own)];

/** 2 MB. */
export const longLogs = [
  kind(
    'eth_getLogs',
    [{ blockHash: own }],
    Array.from({ length: 2_700 }, (_, index) => {
      return { ...log, blockHash: own, transactionHash: word('b'), logIndex: `0x${index.toString(16)}` };
    }),
  ),
];

const step = {
  pc: 100,
  op: 'SSTORE',
  gas: 20_000_000,
  gasCost: 20_000,
  depth: 1,
  stack: [word('1'), word('2'), '0x0'],
};

/** 5 MB. */
export const longTraces = [
  kind('debug_traceTransaction', [own, {}], {
    ...{ gas: 21_000, failed: false, returnValue: own },
    structLogs: Array.from({ length: 22_000 }, () => step),
  }),
];

export const allKinds = [...walletMix, ...finalMix, ...wholeBlocks, ...ethCalls, ...longLogs, ...longTraces];

/** The newest block and the final block of this chain. */
export const heads = {
  latest: JSON.stringify({ ...block, number: '0x20', hash: word('f') }),
  finalized: JSON.stringify({ ...block, number: '0x10' }),
};
