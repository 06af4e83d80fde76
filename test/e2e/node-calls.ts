import { expect } from 'vitest';
import type { DemoChain } from '../../local-chain/demo-chain.ts';

/**
 * Calls that a real node can serve, and a part of the expected result.
 * @param number of the block with three transactions
 */
export function nodeCalls(
  { caller, other, counter, blockHash, setTransaction, transferTransaction }: DemoChain,
  number: string,
): [method: string, params: unknown[], expected: unknown][] {
  const call = { from: caller, to: counter.address, data: counter.calls.number };
  const stored = `0x${counter.value.toString(16).padStart(64, '0')}`;
  const quantity = expect.stringMatching(/^0x[0-9a-f]+$/) as string;
  const log = expect.objectContaining({ transactionHash: setTransaction, removed: false }) as unknown;
  return [
    ['eth_blockNumber', [], number],
    ['eth_getBlockByNumber', [number, false], { hash: blockHash, nonce: '0x0000000000000000' }],
    ['eth_getBlockByNumber', [number, true], { hash: blockHash, transactions: { length: 3 } }],
    ['eth_getBlockByNumber', ['0x0', true], { number: '0x0', transactions: [] }],
    ['eth_getBlockByNumber', ['latest', false], { hash: blockHash }],
    ['eth_getBlockByNumber', ['pending', true], { parentHash: blockHash }],
    ['eth_getBalance', [other, 'latest'], quantity],
    ['eth_getBalance', [other, { blockHash }], quantity],
    ['eth_getCode', [counter.address, 'latest'], expect.stringMatching(/^0x60/)],
    ['eth_getCode', [caller, number], '0x'],
    ['eth_getStorageAt', [counter.address, '0x0', { blockNumber: number }], stored],
    ['eth_getTransactionCount', [caller, 'pending'], '0x4'],
    ['eth_call', [call, 'latest'], stored],
    ['eth_call', [call], stored],
    ['eth_call', [call, blockHash], stored],
    ['eth_call', [{ data: '0x' }, 'latest'], '0x'],
    ['eth_call', [call, 'latest', { [counter.address]: { code: '0x5f5ff3' } }], '0x'],
    [
      'eth_call',
      [{ data: '0x425f5260205ff3' }, 'latest', {}, { time: '0x70000000' }],
      `0x${'70000000'.padStart(64, '0')}`,
    ],
    ['eth_createAccessList', [call, 'latest'], { accessList: [{ address: counter.address }], gasUsed: quantity }],
    [
      'eth_simulateV1',
      [{ blockStateCalls: [{ calls: [call] }], traceTransfers: true }, 'latest'],
      [{ calls: [{ status: '0x1', gasUsed: quantity }] }],
    ],
    ['eth_estimateGas', [call], quantity],
    ['eth_estimateGas', [call, 'latest', {}, {}], quantity],
    ['eth_createAccessList', [call], { gasUsed: quantity }],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [call] }] }], [{ calls: [{ status: '0x1' }] }]],
    ['eth_gasPrice', [], quantity],
    ['eth_maxPriorityFeePerGas', [], quantity],
    ['eth_blobBaseFee', [], '0x1'],
    ['eth_feeHistory', ['0x2', 'latest', [20.5, 95]], { reward: { length: 2 }, oldestBlock: quantity }],
    ['eth_feeHistory', [2, number], { baseFeePerGas: { length: 3 } }],
    ['eth_getLogs', [{ blockHash }], [log]],
    ['eth_getLogs', [{ fromBlock: 'earliest', toBlock: number, address: counter.address, topics: [null, []] }], [log]],
    ['eth_getLogs', [{ address: [caller, other] }], []],
    ['eth_getBlockReceipts', [number], { length: 3 }],
    ['eth_getBlockReceipts', [{ blockHash }], { length: 3 }],
    ['eth_getBlockReceipts', [blockHash], { length: 3 }],
    ['eth_getTransactionByHash', [setTransaction], { blockHash }],
    ['eth_getTransactionReceipt', [setTransaction], { blockHash }],
    ['eth_getBlockByHash', [blockHash, true], { number }],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0'], { hash: transferTransaction }],
    ['eth_getTransactionByBlockNumberAndIndex', [number, '0x0'], { hash: transferTransaction }],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x00'], { hash: transferTransaction }],
    ['eth_getBlockTransactionCountByHash', [blockHash], '0x3'],
    ['eth_getBlockTransactionCountByNumber', [number], '0x3'],
    ['eth_getUncleCountByBlockHash', [blockHash], '0x0'],
    ['eth_getUncleCountByBlockNumber', ['latest'], '0x0'],
    ['eth_syncing', [], false],
    ['web3_clientVersion', [], expect.stringMatching(/^Gatehouse\/v/)],
    ['web3_sha3', ['0x'], '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'],
    ['eth_getProof', [counter.address, [stored], 'latest'], { address: counter.address, storageProof: { length: 1 } }],
  ];
}
