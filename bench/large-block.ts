/** A block of 200 kB with full transactions, as nodes return it since the merge: without `totalDifficulty`. */
const word = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;

export const blockHash = word('a');

const transaction = {
  ...{ blockHash, blockNumber: '0x10', hash: word('c'), transactionIndex: '0x1', from: address('1'), to: address('2') },
  ...{ gas: '0x5208', gasPrice: '0x3b9aca00', maxFeePerGas: '0x3b9aca00', maxPriorityFeePerGas: '0x1' },
  ...{ input: `0xa9059cbb${'0'.repeat(128)}`, nonce: '0x1', value: '0x0', type: '0x2', chainId: '0x1', accessList: [] },
  ...{ v: '0x1', yParity: '0x1', r: word('d'), s: word('e') },
};

export const largeBlock = {
  ...{ number: '0x10', hash: blockHash, parentHash: word('1'), nonce: '0x0000000000000000', sha3Uncles: word('2') },
  ...{ logsBloom: `0x${'0'.repeat(512)}`, transactionsRoot: word('3'), stateRoot: word('4'), receiptsRoot: word('5') },
  ...{ miner: address('3'), difficulty: '0x0', extraData: '0x', size: '0x30000', gasLimit: '0x1c9c380' },
  ...{ gasUsed: '0x1c9c380', timestamp: '0x65000000', uncles: [], mixHash: word('6'), baseFeePerGas: '0x7' },
  transactions: Array.from({ length: 248 }, () => transaction),
};
