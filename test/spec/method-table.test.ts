import { expect, test } from 'vitest';
import type { MethodSpec, ObjectShape } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';

function method(name: string): MethodSpec {
  const found = methods.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`there is no method ${name}`);
  return found;
}

function names(which: (method: MethodSpec) => boolean): string[] {
  return methods
    .filter(which)
    .map(({ name }) => name)
    .sort();
}

function shape(name: string): ObjectShape | undefined {
  return method(name).shape;
}

test('the four lookups and no other method may answer null', () => {
  expect(names(({ nullable }) => nullable)).toEqual([
    ...['eth_getBlockByHash', 'eth_getTransactionByHash', 'eth_getTransactionReceipt'],
    'eth_getUncleByBlockHashAndIndex',
  ]);
});

test('the two estimates may end in a revert', () => {
  expect(names(({ reverts }) => reverts)).toEqual(['eth_estimateGas', 'zks_estimateFee']);
});

test('five methods are answered by the gateway itself', () => {
  expect(names(({ answer }) => answer === 'local')).toEqual([
    ...['eth_accounts', 'eth_chainId', 'net_listening', 'net_version', 'web3_clientVersion'],
  ]);
});

test('what is asked for by hash must have that hash', () => {
  expect(method('eth_getBlockByHash').identity).toBe('hash');
  expect(method('eth_getTransactionByHash').identity).toBe('hash');
  expect(method('eth_getTransactionReceipt').identity).toBe('transactionHash');
  expect(method('eth_getUncleByBlockHashAndIndex').identity).toBeUndefined();
});

test('hashes are found among the parameters, also where a block may be named by its hash', () => {
  expect(Object.fromEntries(methods.map(({ name, hashParams }) => [name, hashParams]))).toMatchObject({
    eth_getStorageAt: [2],
    eth_getBlockByHash: [0],
    eth_getUncleByBlockHashAndIndex: [0],
    eth_getTransactionReceipt: [0],
    eth_estimateGas: [1],
    eth_getTransactionByHash: [0],
    zks_estimateFee: [],
    eth_chainId: [],
  });
});

test('the gas of the first parameter of eth_estimateGas is capped, and no other', () => {
  expect(methods.filter(({ gasCapParam }) => gasCapParam !== undefined)).toEqual([method('eth_estimateGas')]);
  expect(method('eth_estimateGas').gasCapParam).toBe(0);
});

test('every kind of result is known', () => {
  expect(Object.fromEntries(methods.map(({ name, resultKind }) => [name, resultKind]))).toEqual({
    eth_getStorageAt: 'string',
    eth_getBlockByHash: 'object',
    eth_getUncleByBlockHashAndIndex: 'object',
    eth_getTransactionReceipt: 'object',
    eth_estimateGas: 'string',
    eth_getTransactionByHash: 'object',
    eth_chainId: 'string',
    eth_accounts: 'array',
    net_version: 'string',
    net_listening: 'boolean',
    web3_clientVersion: 'string',
    zks_estimateFee: 'object',
  });
});

test('a storage value, and r and s of a signature, are padded to 32 bytes', () => {
  expect(methods.filter(({ padResult }) => padResult !== undefined)).toEqual([method('eth_getStorageAt')]);
  expect(method('eth_getStorageAt').padResult).toBe(32);
  expect(shape('eth_getTransactionByHash')?.pad).toEqual({ r: 32, s: 32 });
});

test('fields that are not optional are filled, the others are left alone', () => {
  expect(shape('eth_getBlockByHash')?.fill).toContain('totalDifficulty');
  expect(shape('eth_getBlockByHash')?.fill).toContain('transactions');
  expect(shape('eth_getUncleByBlockHashAndIndex')?.fill).not.toContain('transactions');
  expect(shape('eth_getTransactionByHash')?.fill).not.toContain('maxFeePerGas');
  expect(shape('eth_getTransactionByHash')?.fill).not.toContain('chainId');
  expect(shape('eth_getTransactionReceipt')?.fill).not.toContain('status');
  expect(shape('eth_getTransactionReceipt')?.fill).not.toContain('root');
});

test('transactions inside a block have the shape of a transaction', () => {
  expect(shape('eth_getBlockByHash')?.nested.transactions).toEqual(shape('eth_getTransactionByHash'));
  expect(shape('eth_getTransactionByHash')?.rename).toEqual({ chainId: 'chainID' });
});

test('logs inside a receipt have the shape of a log', () => {
  const log = shape('eth_getTransactionReceipt')?.nested.logs;
  expect(log?.fill).toHaveLength(9);
  expect(log?.nested).toEqual({});
});
