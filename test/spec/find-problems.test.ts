import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProblems } from '../../schemas/find-problems.ts';
import { refTo, type JsonSchema } from '../../schemas/json-schema.ts';
import { readSources, type MethodSource } from '../../schemas/read-sources.ts';

const all = readSources(join(packageRoot, 'schemas'));
/** A few methods, so that each test compiles few schemas. openrpc.test.ts checks all of them. */
const named = ['eth_chainId', 'eth_getBlockByHash', 'eth_getLogs', 'eth_getStorageAt', 'eth_getTransactionByHash'];
const sources = { ...all, methods: all.methods.filter(({ name }) => named.includes(name)) };

/** The errors of the generator after one method's source was altered. */
function withMethod(name: string, change: (method: MethodSource) => object): string[] {
  const methods = sources.methods.map((method) => (method.name === name ? { ...method, ...change(method) } : method));
  return findProblems({ ...sources, methods });
}

function withType(name: string, schema: JsonSchema): string[] {
  return findProblems({ ...sources, types: { ...sources.types, [name]: schema } });
}

test('an unknown key of a method is found', () => {
  expect(withMethod('eth_chainId', () => ({ sumary: 'x' }))).toEqual([
    'eth_chainId: has a key sumary that the generator does not know',
  ]);
});

test('a method that is defined twice is found', () => {
  expect(findProblems({ ...sources, methods: [...sources.methods, ...sources.methods.slice(0, 1)] })).toEqual([
    'eth_getStorageAt: is defined twice',
  ]);
});

test('a reference to a type that does not exist is found', () => {
  const result = { name: 'chainId', schema: { $ref: refTo('Quantitty') } };
  expect(withMethod('eth_chainId', () => ({ result }))).toEqual([
    'eth_chainId: #/components/schemas/Quantitty does not exist',
  ]);
});

test('a reference to an error that does not exist is found', () => {
  const errors = [{ $ref: '#/components/errors/Revertd' }];
  expect(withMethod('eth_chainId', () => ({ errors }))).toEqual([
    'eth_chainId: #/components/errors/Revertd does not exist',
  ]);
});

test('a type that contains itself is found', () => {
  expect(withType('Loop', { title: 'loop', type: 'array', items: { $ref: refTo('Loop') } })).toEqual([
    'Loop: refers to Loop again',
  ]);
});

test('a rule beside a reference, which inlining would lose, is found', () => {
  const first = { $ref: refTo('Hash'), pattern: '^0x0' };
  expect(withType('Pair', { title: 'pair', type: 'object', properties: { first } })).toEqual([
    'Pair: pattern beside #/components/schemas/Hash would be lost',
  ]);
});

test('a type without a title is found', () => {
  expect(withType('Nameless', { type: 'string' })).toEqual(['Nameless: has no title, which error messages need']);
});

test('two types with the same title are found', () => {
  expect(withType('Hash2', { title: '32-byte hash', type: 'string' })).toEqual([
    'two types have the title "32-byte hash"',
  ]);
});

test('a required parameter after an optional one is found', () => {
  const change = ({ params }: MethodSource): object => ({
    params: params.map((param) => ({ ...param, required: param.name === 'block' })),
  });
  expect(withMethod('eth_getStorageAt', change)).toEqual([
    'eth_getStorageAt: block is required but follows an optional parameter',
  ]);
});

test('a gas cap on a type other than a quantity is found', () => {
  const owner = { $ref: '#/components/schemas/Address', 'x-gatehouse': { gasCap: true } } as const;
  expect(withType('Owned', { title: 'owned thing', type: 'object', properties: { owner } })).toEqual([
    'Owned.owner: gasCap must be at a quantity',
  ]);
});

test('an identity that is no field of the result is found', () => {
  const problemsOf = (field: string, param: string): string[] =>
    withMethod('eth_getBlockByHash', () => ({ 'x-gatehouse': { identity: { [field]: param } } }));
  const problem = 'must be a hash or quantity of the result, and name a parameter';
  expect(problemsOf('blockHash', 'hash')).toEqual([`eth_getBlockByHash: identity.blockHash ${problem}`]);
  expect(problemsOf('miner', 'hash')).toEqual([`eth_getBlockByHash: identity.miner ${problem}`]);
  expect(problemsOf('hash', 'block')).toEqual([`eth_getBlockByHash: identity.hash ${problem}`]);
  expect(problemsOf('hash', 'hash')).toEqual([]);
});

test('details that are no field of the result, or no parameter, are found', () => {
  const problemsOf = (field: string, param: string): string[] =>
    withMethod('eth_getBlockByHash', () => ({ 'x-gatehouse': { details: { [field]: param } } }));
  const problem = 'must be a field of the result, and name a parameter';
  expect(problemsOf('transaction', 'transactionDetails')).toEqual([
    `eth_getBlockByHash: details.transaction ${problem}`,
  ]);
  expect(problemsOf('transactions', 'details')).toEqual([`eth_getBlockByHash: details.transactions ${problem}`]);
  expect(problemsOf('transactions', 'transactionDetails')).toEqual([]);
});

test('a tracked or split parameter that does not exist, and a role of two methods, are found', () => {
  const problemsOf = (extension: object): string[] =>
    withMethod('eth_getTransactionByHash', () => ({ 'x-gatehouse': extension }));
  expect(problemsOf({ tracks: { sender: 'hash' } })).toEqual([
    'eth_getTransactionByHash: tracks.sender must name a parameter',
  ]);
  expect(problemsOf({ tracks: { transaction: 'transactionHash' } })).toEqual([]);
  expect(problemsOf({ splits: 'filter' })).toEqual(['eth_getTransactionByHash: splits must name a parameter']);
  expect(problemsOf({ splits: 'transactionHash' })).toEqual([]);
  expect(problemsOf({ role: 'logs' })).toEqual(['two methods have the role logs']);
});

test('an invalid example is found', () => {
  const examples = [{ name: 'wrong', params: [], result: { name: 'chainId', value: 1 } }];
  expect(withMethod('eth_chainId', () => ({ examples }))).toEqual([
    'eth_chainId: example "wrong": result must be string',
  ]);
});
