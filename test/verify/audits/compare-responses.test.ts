import { describe, expect, it } from 'vitest';
import { compareResponses, isComparable, type Comparison } from '../../../gateway/verify/evidence/compare-responses.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import type { MethodSpec } from '../../../gateway/spec/method-spec.ts';

const specOf = (name: string): MethodSpec => methods.find((method) => method.name === name) as MethodSpec;
const result = (value: unknown) => ({ kind: 'result', result: value }) as const;
const revert = (data: unknown) => ({ kind: 'error', code: 3, message: 'execution reverted', data }) as const;
const failed = { kind: 'error', code: -32000, message: 'header not found', data: undefined } as const;

const [hash, another, address] = [`0x${'1a'.repeat(32)}`, `0x${'2b'.repeat(32)}`, `0x${'Cc'.repeat(20)}`];
const log = {
  ...{ address, topics: [hash], data: '0x01', blockHash: hash, blockNumber: '0x5', transactionHash: another },
  ...{ transactionIndex: '0x0', logIndex: '0x0', removed: false },
};
const receipt = {
  ...{
    transactionHash: another,
    blockHash: hash,
    blockNumber: '0x5',
    transactionIndex: '0x0',
    from: address,
    to: address,
  },
  ...{ contractAddress: null, cumulativeGasUsed: '0x5208', gasUsed: '0x5208', effectiveGasPrice: '0x7', status: '0x1' },
  ...{ type: '0x2', logsBloom: `0x${'00'.repeat(256)}`, logs: [log] },
};

function compare(method: string, one: unknown, other: unknown): Comparison {
  return compareResponses(specOf(method), result(one), result(other));
}

describe('two results are equal', () => {
  it.each([
    [
      'in spite of upper and lower case',
      'eth_getTransactionReceipt',
      receipt,
      { ...receipt, from: address.toLowerCase() },
    ],
    [
      'if one lacks optional members',
      'eth_getTransactionReceipt',
      receipt,
      { ...receipt, effectiveGasPrice: undefined },
    ],
    ['if one has null for a member', 'eth_getTransactionReceipt', receipt, { ...receipt, to: null }],
    [
      'in spite of members of L2s',
      'eth_getTransactionReceipt',
      { ...receipt, l1Fee: '0x1' },
      { ...receipt, l1Fee: '0x2' },
    ],
    ['in spite of fields in which correct nodes differ', 'eth_getLogs', [log], [{ ...log, blockTimestamp: '0x0' }]],
    [
      'in spite of leading zeros in proofs',
      'eth_getProof',
      { storageProof: [{ key: '0x0' }] },
      { storageProof: [{ key: hash.replace(/[^x0]/g, '0') }] },
    ],
  ])('%s', (_, method, one, other) => {
    expect(compare(method, one, other)).toBe('equal');
    expect(compare(method, other, one)).toBe('equal');
  });
});

describe('two results are different', () => {
  it.each([
    ['with another status', ['status'], 'eth_getTransactionReceipt', receipt, { ...receipt, status: '0x0' }],
    [
      'with another topic of a log',
      ['logs', '0', 'topics', '0'],
      'eth_getTransactionReceipt',
      receipt,
      { ...receipt, logs: [{ ...log, topics: [another] }] },
    ],
    ['without one of the logs', [], 'eth_getLogs', [log], []],
    ['with null in place of one of the logs', ['0'], 'eth_getLogs', [log], [null]],
    ['with another log', ['0', 'data'], 'eth_getLogs', [log], [{ ...log, data: '0x02' }]],
    ['with another balance', [], 'eth_getBalance', '0x1', '0x2'],
    ['with data of another length', [], 'eth_call', '0x00', '0x0000'],
    [
      'in a member that is compared, and not in one that is not',
      ['status'],
      'eth_getTransactionReceipt',
      { l1Fee: '0x1', ...receipt },
      { l1Fee: '0x2', ...receipt, status: '0x0' },
    ],
  ])('%s', (_, path, method, one, other) => {
    expect(compare(method, one, other)).toEqual(path);
    expect(compare(method, other, one)).toEqual(path);
  });
});

describe('two responses cannot be compared', () => {
  it.each([
    ['if one is null', 'eth_getTransactionReceipt', result(receipt), result(null)],
    [
      'if they name different blocks',
      'eth_getTransactionReceipt',
      result(receipt),
      result({ ...receipt, blockHash: another }),
    ],
    [
      'if one is pending',
      'eth_getTransactionByHash',
      result({ hash, blockHash: null }),
      result({ hash, blockHash: another, blockNumber: '0x1' }),
    ],
    ['if one is an error', 'eth_call', result('0x1'), failed],
    ['if one reverts and the other does not: gas caps differ', 'eth_call', result('0x01'), revert('0x01')],
    ['if one reverts without its payload', 'eth_call', revert('0x08'), revert('0x')],
  ])('%s', (_, method, one, other) => {
    expect(compareResponses(specOf(method), one, other)).toBe('incomparable');
    expect(compareResponses(specOf(method), other, one)).toBe('incomparable');
  });
});

it('reverts are compared by their payloads', () => {
  const call = specOf('eth_call');
  expect(compareResponses(call, revert('0x08AB'), revert('0x08ab'))).toBe('equal');
  expect(compareResponses(call, revert('0x08ab'), revert('0x08ac'))).toEqual([]);
  expect([isComparable(revert('0x08')), isComparable(revert('0x')), isComparable(failed)]).toEqual([
    true,
    false,
    false,
  ]);
});

it('results are equal whatever their order of members', () => {
  const reversed = Object.fromEntries(Object.entries({ ...receipt, from: address.toLowerCase() }).reverse());
  expect(compare('eth_getTransactionReceipt', receipt, reversed)).toBe('equal');
});
