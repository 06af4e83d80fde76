import { describe, expect, test } from 'vitest';
import { compileParamChecks } from '../../gateway/spec/check-params.ts';

const checks = compileParamChecks();
const address = '0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6';
const checksummed = '0x3C469e9D6C5875d37a43F353D4f88E61fcF812c6';
const hash = `0x${'4d'.repeat(32)}`;

function check(method: string, params: readonly unknown[]): string | undefined {
  const paramCheck = checks.get(method);
  if (paramCheck === undefined) throw new Error(`there is no method ${method}`);
  return paramCheck(params);
}

describe('a method that reads state', () => {
  const blocks = ['latest', 'earliest', 'pending', 'safe', 'finalized', '0x0', '0x00ff', hash];
  const objects = [{ blockHash: hash }, { blockHash: hash, requireCanonical: true }, { blockNumber: '0x1' }];
  const reads: [string, unknown[]][] = [
    ['eth_getBalance', [checksummed]],
    ['eth_getCode', [address]],
    ['eth_getTransactionCount', [address]],
    ['eth_call', [{ to: address, data: '0x' }]],
    ['eth_createAccessList', [{ to: address }]],
    ['eth_getProof', [address, ['0x0', hash]]],
  ];

  test.each(reads)('%s accepts a block in every form, null, or none', (method, params) => {
    expect(check(method, params)).toBeUndefined();
    for (const block of [...blocks, ...objects, null]) expect(check(method, [...params, block])).toBeUndefined();
  });

  test.each(reads)('%s rejects other values', (method, params) => {
    for (const block of ['newest', '10', 10, true, [], {}]) {
      expect(check(method, [...params, block])).toBe('invalid params: block: expected block number or tag');
    }
  });
});

describe('a block by number', () => {
  const takers: [string, unknown[]][] = [
    ['eth_getBlockByNumber', [true]],
    ['eth_getTransactionByBlockNumberAndIndex', ['0x0']],
    ['eth_getUncleByBlockNumberAndIndex', ['0x0']],
    ['eth_getBlockTransactionCountByNumber', []],
    ['eth_getUncleCountByBlockNumber', []],
  ];

  test.each(takers)('%s accepts a number or a tag', (method, more) => {
    for (const block of ['latest', 'earliest', 'pending', 'safe', 'finalized', '0x0', '0x00fF']) {
      expect(check(method, [block, ...more])).toBeUndefined();
    }
  });

  test.each(takers)('%s rejects hashes, objects and plain numbers', (method, more) => {
    for (const block of [hash, { blockHash: hash }, { blockNumber: '0x1' }, 5, '5', null, 'LATEST']) {
      expect(check(method, [block, ...more])).toBe('invalid params: block: expected block number or tag, not a hash');
    }
  });

  test('eth_getBlockReceipts also accepts a hash', () => {
    for (const block of ['0x1', 'latest', hash, { blockHash: hash }, { blockNumber: '0x1' }]) {
      expect(check('eth_getBlockReceipts', [block])).toBeUndefined();
    }
    expect(check('eth_getBlockReceipts', [])).toBe('invalid params: block: expected block number or tag');
  });
});

describe('eth_call', () => {
  test('accepts the requests of clients', () => {
    const call = { to: address, data: '0x', input: '0x', chainId: '0x1', type: '0x2', accessList: [] };
    for (const params of [
      [call],
      [{ data: '0x6000' }, 'latest'],
      [{ from: null, to: null, gas: null, value: '0x00' }, 'pending'],
      [call, null, { [address]: { stateDiff: {} } }],
      [call, 'latest', {}, { time: '0x1', blobBaseFee: '0x1' }],
      [call, 'latest', null, null],
    ]) {
      expect(check('eth_call', params)).toBeUndefined();
    }
  });

  test.each<[unknown[], string]>([
    [[], 'transaction: expected transaction call object'],
    [['0x'], 'transaction: expected transaction call object'],
    [[{ to: '0x1' }], 'transaction.to: expected 20-byte address'],
    [[{ data: '0x1' }], 'transaction.data: expected hexadecimal bytes or an empty text'],
    [[{ gas: 21000 }], 'transaction.gas: expected hexadecimal quantity'],
    [[{}, 'latest', 'x'], 'stateOverride: expected state override object'],
    [[{}, 'latest', {}, {}, {}], 'expected at most 4 parameters'],
  ])('rejects %j', (params, sentence) => {
    expect(check('eth_call', params)).toBe(`invalid params: ${sentence}`);
  });
});

describe('a log filter', () => {
  test.each([
    {},
    { fromBlock: '0x1', toBlock: 'latest' },
    { fromBlock: 'earliest', toBlock: 'finalized', address },
    { fromBlock: null, toBlock: null, address: null, topics: null, blockHash: null },
    { blockHash: hash },
    { blockHash: hash, fromBlock: null, toBlock: null, topics: [] },
    { blockHash: null, fromBlock: '0x1' },
    { address: [address, checksummed], topics: [] },
    { address: [], topics: [null] },
    { topics: [hash, null, [hash, null], []] },
    { topics: [[null]], extra: 1 },
  ])('%j passes', (filter) => {
    expect(check('eth_getLogs', [filter])).toBeUndefined();
  });

  const whole = 'filter: expected log filter with either blockHash or fromBlock and toBlock';
  test.each<[unknown, string]>([
    [undefined, whole],
    [null, whole],
    [[], whole],
    [{ blockHash: hash, fromBlock: '0x1' }, whole],
    [{ blockHash: hash, toBlock: 'latest' }, whole],
    [{ blockHash: '0x12' }, 'filter.blockHash: expected 32-byte hash'],
    [{ fromBlock: 1 }, 'filter.fromBlock: expected block number or tag, not a hash'],
    [{ toBlock: hash }, 'filter.toBlock: expected block number or tag, not a hash'],
    [{ address: '0x12' }, 'filter.address: expected 20-byte address'],
    [{ address: [address, '0x12'] }, 'filter.address[1]: expected 20-byte address'],
    [{ address: 5 }, 'filter.address: expected 20-byte address'],
    [{ topics: ['0x12'] }, 'filter.topics[0]: expected 32-byte hash'],
    [{ topics: [null, [hash, '0x12']] }, 'filter.topics[1][1]: expected 32-byte hash'],
    [{ topics: hash }, whole],
  ])('%j is rejected', (filter, sentence) => {
    expect(check('eth_getLogs', filter === undefined ? [] : [filter])).toBe(`invalid params: ${sentence}`);
  });
});

describe('eth_feeHistory', () => {
  test.each([
    ['0x4', 'latest', [20.5, 50]],
    ['0x04', '0x10', []],
    [4, 'pending'],
    ['0xa', 'latest', null],
    ['2', 'latest', []],
    ['0', 'latest'],
  ])('takes %j, %j, %j', (...params) => {
    expect(check('eth_feeHistory', params)).toBeUndefined();
  });

  test.each<[unknown[], string]>([
    [[], 'blockCount: expected hexadecimal quantity or whole number'],
    [['4.0', 'latest'], 'blockCount: expected hexadecimal quantity or whole number'],
    [[-1, 'latest'], 'blockCount: expected hexadecimal quantity or whole number'],
    [[1.5, 'latest'], 'blockCount: expected hexadecimal quantity or whole number'],
    [['0x4', hash], 'newestBlock: expected block number or tag, not a hash'],
    [['0x4', 'latest', ['20']], 'rewardPercentiles: expected list of numbers from 0 to 100'],
    [['0x4', 'latest', [101]], 'rewardPercentiles: expected list of numbers from 0 to 100'],
    [['0x4', 'latest', 20], 'rewardPercentiles: expected list of numbers from 0 to 100'],
  ])('rejects %j', (params, sentence) => {
    expect(check('eth_feeHistory', params)).toBe(`invalid params: ${sentence}`);
  });
});

describe('other methods', () => {
  test.each<[string, unknown[]]>([
    ['eth_sendRawTransaction', ['0x02f870AB']],
    ['eth_getTransactionByBlockHashAndIndex', [hash, '0x00']],
    ['eth_getProof', [address, []]],
    ['eth_syncing', []],
    ['zks_getBlockDetails', [140599]],
    ['zks_getTransactionDetails', [hash]],
    ['zks_L1ChainId', []],
  ])('%s takes %j', (method, params) => {
    expect(check(method, params)).toBeUndefined();
  });

  test.each<[string, unknown[], string]>([
    ['eth_sendRawTransaction', [], 'transaction: expected hexadecimal bytes'],
    ['eth_sendRawTransaction', ['02f870'], 'transaction: expected hexadecimal bytes'],
    ['eth_sendRawTransaction', ['0x02f'], 'transaction: expected hexadecimal bytes'],
    ['eth_sendRawTransaction', [{ to: address }], 'transaction: expected hexadecimal bytes'],
    ['eth_getTransactionByBlockHashAndIndex', ['latest', '0x0'], 'blockHash: expected 32-byte hash'],
    ['eth_getTransactionByBlockHashAndIndex', [hash, 0], 'index: expected hexadecimal quantity'],
    ['eth_getBlockByNumber', ['latest'], 'transactionDetails: expected boolean or null'],
    ['eth_getProof', [address, '0x0'], 'storageKeys: expected list of storage positions'],
    ['eth_getProof', [address, [0]], 'storageKeys[0]: expected storage position of 1 to 64 hexadecimal digits'],
    ['eth_gasPrice', [1], 'feeCurrency: expected 20-byte address of a fee currency'],
    ['eth_gasPrice', [address, 1], 'expected at most 1 parameter'],
    ['eth_blobBaseFee', [1], 'expected no parameters'],
    ['zks_getBlockDetails', ['0x1'], 'block: expected integer'],
  ])('%s rejects %j', (method, params, sentence) => {
    expect(check(method, params)).toBe(`invalid params: ${sentence}`);
  });
});
