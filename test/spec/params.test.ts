import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileParamChecks } from '../../gateway/spec/check-params.ts';
import { propertyRuns } from '../support/property-runs.ts';

const checks = compileParamChecks();
const address = '0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6';
const checksummed = '0x3C469e9D6C5875d37a43F353D4f88E61fcF812c6';
const hash = `0x${'4d'.repeat(32)}`;

function check(method: string, params: readonly unknown[]): string | undefined {
  const paramCheck = checks.get(method);
  if (paramCheck === undefined) throw new Error(`there is no method ${method}`);
  return paramCheck(params);
}

const storage = (block: unknown): [string, unknown[]] => ['eth_getStorageAt', [address, '0x0', block]];
const estimate = (...params: unknown[]): [string, unknown[]] => ['eth_estimateGas', params];
const fee = (...params: unknown[]): [string, unknown[]] => ['zks_estimateFee', params];

describe('these parameters are accepted', () => {
  const upperCaseHash = `0x${'4D'.repeat(32)}`;
  const passing: Record<string, [method: string, params: unknown[]]> = {
    'an address in lower case': ['eth_getStorageAt', [address, '0x0', 'latest']],
    'an address with checksum, as viem sends it': ['eth_getStorageAt', [checksummed, '0x0', 'latest']],
    'a storage position of 64 digits with leading zeros': [
      'eth_getStorageAt',
      [address, `0x${'0'.repeat(64)}`, 'latest'],
    ],
    'a storage position with an odd number of digits': ['eth_getStorageAt', [address, '0xabc', 'latest']],
    'the tag earliest': storage('earliest'),
    'the tag pending': storage('pending'),
    'the tag safe': storage('safe'),
    'the tag finalized': storage('finalized'),
    'a block number': storage('0x10d4f'),
    'a block by hash, as in EIP-1898': storage({ blockHash: hash }),
    'a block by hash that must be canonical': storage({ blockHash: hash, requireCanonical: true }),
    'a block by number, as in EIP-1898': storage({ blockNumber: '0x1' }),
    'a block hash and false': ['eth_getBlockByHash', [hash, false]],
    'a block hash in upper case': ['eth_getBlockByHash', [upperCaseHash, true]],
    'an uncle index': ['eth_getUncleByBlockHashAndIndex', [hash, '0x0']],
    'a hash for a receipt': ['eth_getTransactionReceipt', [hash]],
    'a hash for a transaction': ['eth_getTransactionByHash', [upperCaseHash]],
    'a call object alone, as ethers sends it': estimate({ from: address, to: address, data: '0xa9059cbb' }),
    'a call object and latest, as web3.js sends it': estimate({ from: address, to: address, input: '0x' }, 'latest'),
    'both data and input and a chain id, as cast sends it': estimate({
      to: address,
      data: '0x',
      input: '0x',
      chainId: '0x1',
    }),
    'an empty call object': estimate({}),
    'a deployment without a receiver': estimate({ from: address, data: '0x6000' }),
    'a deployment to null': estimate({ from: address, to: null, data: '0x6000' }),
    'null in every optional field of a call object': estimate({
      ...{ from: null, to: null, gas: null, gasPrice: null, maxFeePerGas: null, maxPriorityFeePerGas: null },
      ...{ value: null, data: null, input: null },
    }),
    'fields of a call object that the specification does not name': estimate({
      to: address,
      accessList: [],
      nonce: '0x1',
      type: '0x2',
    }),
    'a block by hash for an estimate': estimate({ to: address }, { blockHash: hash }),
    'a state override, as viem sends it': estimate({ to: address }, 'latest', { [address]: { balance: '0x1' } }),
    'a state override behind a block that is null': estimate({ to: address }, null, { [address]: { balance: '0x1' } }),
    'a block override': estimate({ to: address }, 'latest', {}, { time: '0x1' }),
    'null for every parameter that may be left out': estimate({ to: address }, null, null, null),
    'a zkSync transaction with eip712Meta, as zksync-ethers sends it': fee({
      ...{ from: address, to: address, data: '0x', type: '0x71' },
      eip712Meta: { gasPerPubdata: '0xc350', factoryDeps: [] },
    }),
    'a zkSync transaction without data': fee({ from: checksummed, to: address }),
    'a zkSync transaction and a state override': fee({ from: address, to: address, data: null }, {}),
    'no parameter where there is none': ['eth_chainId', []],
  };

  test.each(Object.entries(passing))('%s', (_, [method, params]) => {
    expect(check(method, params)).toBeUndefined();
  });

  test('a megabyte of call data', () => {
    expect(check('eth_estimateGas', [{ data: `0x${'ab'.repeat(2 ** 20)}` }])).toBeUndefined();
  });
});

describe('these parameters are rejected', () => {
  const rejected: Record<string, [method: string, params: unknown[], sentence: string]> = {
    'no parameters at all': ['eth_getStorageAt', [], 'address: expected 20-byte address'],
    'a missing block, which the specification requires': [
      'eth_getStorageAt',
      [address, '0x0'],
      'block: expected block number or tag',
    ],
    'a null block where it is required': [...storage(null), 'block: expected block number or tag'],
    'a wrong parameter before a missing one': ['eth_getStorageAt', ['0x1', '0x0'], 'address: expected 20-byte address'],
    'an address without 0x': [
      'eth_getStorageAt',
      [address.slice(2), '0x0', 'latest'],
      'address: expected 20-byte address',
    ],
    'an address that is too long': [
      'eth_getStorageAt',
      [`${address}00`, '0x0', 'latest'],
      'address: expected 20-byte address',
    ],
    'a storage position of 65 digits': [
      'eth_getStorageAt',
      [address, `0x${'0'.repeat(65)}`, 'latest'],
      'position: expected storage position of 1 to 64 hexadecimal digits',
    ],
    'a tag that does not exist': [...storage('newest'), 'block: expected block number or tag'],
    'a tag in upper case': [...storage('LATEST'), 'block: expected block number or tag'],
    'a block number that is not a string': [...storage(1), 'block: expected block number or tag'],
    'a decimal block number': [...storage('1'), 'block: expected block number or tag'],
    'an array for a block': [...storage([]), 'block: expected block number or tag'],
    'an object that names no block': [...storage({}), 'block: expected block number or tag'],
    'an object that names a block twice': [
      ...storage({ blockHash: hash, blockNumber: '0x1' }),
      'block: expected block number or tag',
    ],
    'a short hash inside a block object': [...storage({ blockHash: '0x12' }), 'block.blockHash: expected 32-byte hash'],
    'a wrong number inside a block object': [
      ...storage({ blockNumber: 12 }),
      'block.blockNumber: expected block number or tag, not a hash',
    ],
    'requireCanonical as a string': [
      ...storage({ blockHash: hash, requireCanonical: 'yes' }),
      'block.requireCanonical: expected boolean',
    ],
    'a hash that is too short': ['eth_getBlockByHash', ['0x12', true], 'hash: expected 32-byte hash'],
    'a missing flag': ['eth_getBlockByHash', [hash], 'transactionDetails: expected boolean'],
    'a flag as a string': ['eth_getBlockByHash', [hash, 'true'], 'transactionDetails: expected boolean'],
    'an uncle index as a number': [
      'eth_getUncleByBlockHashAndIndex',
      [hash, 0],
      'index: expected hexadecimal quantity',
    ],
    'a missing transaction hash': ['eth_getTransactionReceipt', [], 'transactionHash: expected 32-byte hash'],
    'a missing call object': [...estimate(), 'transaction: expected transaction call object'],
    'an array for a call object': [...estimate([]), 'transaction: expected transaction call object'],
    'a call object that is null': [...estimate(null), 'transaction: expected transaction call object'],
    'a wrong sender': [...estimate({ from: 'alice' }), 'transaction.from: expected 20-byte address'],
    'a value as a number': [...estimate({ value: 1 }), 'transaction.value: expected hexadecimal quantity'],
    'gas without digits': [...estimate({ gas: '0x' }), 'transaction.gas: expected hexadecimal quantity'],
    'gas of more than 32 bytes': [
      ...estimate({ gas: `0x${'f'.repeat(65)}` }),
      'transaction.gas: expected hexadecimal quantity',
    ],
    'half a byte of data': [
      ...estimate({ data: '0x123' }),
      'transaction.data: expected hexadecimal bytes or an empty text',
    ],
    'half a byte of input beside good data': [
      ...estimate({ data: '0x', input: '0x1' }),
      'transaction.input: expected hexadecimal bytes or an empty text',
    ],
    'a wrong block for an estimate': [...estimate({}, 'now'), 'block: expected block number or tag'],
    'a state override that is no object': [
      ...estimate({}, 'latest', []),
      'stateOverride: expected state override object',
    ],
    'a block override that is no object': [
      ...estimate({}, 'latest', {}, '0x'),
      'blockOverride: expected block override object',
    ],
    'a zkSync transaction without a sender': [...fee({ to: address }), 'transaction.from: expected 20-byte address'],
    'a zkSync transaction without a receiver': [...fee({ from: address }), 'transaction.to: expected 20-byte address'],
    'a zkSync transaction to null': [...fee({ from: address, to: null }), 'transaction.to: expected 20-byte address'],
    'a zkSync transaction with wrong data': [
      ...fee({ from: address, to: address, data: 7 }),
      'transaction.data: expected hexadecimal bytes or an empty text',
    ],
    'one parameter too many': ['eth_getTransactionByHash', [hash, true], 'expected at most 1 parameter'],
    'several parameters too many': [
      'eth_getStorageAt',
      [address, '0x0', 'latest', 1, 2],
      'expected at most 3 parameters',
    ],
    'any parameter where there is none': ['net_version', [null], 'expected no parameters'],
  };

  test.each(Object.entries(rejected))('%s', (_, [method, params, sentence]) => {
    expect(check(method, params)).toBe(`invalid params: ${sentence}`);
  });
});

describe('for any parameters', () => {
  const marked = fc.jsonValue({ maxDepth: 3 });
  const nearly = fc.oneof(
    ...[fc.constant(address), fc.constant(hash), fc.constant('latest'), fc.constant(null), fc.boolean()],
    fc.record({ from: marked, to: marked, gas: marked, data: marked, blockHash: marked }, { requiredKeys: [] }),
    marked,
  );

  test('no check throws, and every error message is one sentence that begins "invalid params"', () => {
    const sentence =
      /^invalid params: (([a-zA-Z]+)(\.[a-zA-Z]+|\[\d+\])*: expected [^\n]+|expected (no|at most \d+) parameters?)$/;
    fc.assert(
      fc.property(fc.constantFrom(...checks.keys()), fc.array(nearly, { maxLength: 6 }), (method, params) => {
        const response = check(method, params);
        expect(response ?? 'invalid params: expected no parameters').toMatch(sentence);
      }),
      { numRuns: propertyRuns(3_000) },
    );
  });

  test('an error message does not repeat the caller’s text', () => {
    const secret = 'hunter2';
    const everywhere = { from: secret, [secret]: secret, blockHash: secret };
    for (const method of checks.keys()) {
      for (const value of [secret, [secret], everywhere]) {
        expect(check(method, [value, value, value]) ?? '').not.toContain(secret);
      }
    }
  });
});
