import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import type { MethodSpec, ObjectShape } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { readSources } from '../../schemas/read-sources.ts';

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

/** Examples of methods with a property and of methods without it. Other methods of the schemas may have it or not. */
test.each<[string, (method: MethodSpec) => boolean, string[], string[]]>([
  [
    'may return text',
    ({ resultHasText }) => resultHasText === true,
    ['web3_clientVersion', 'rpc_modules', 'eth_simulateV1', 'eth_createAccessList', 'zks_getFeeParams'],
    ['eth_getBlockByNumber', 'eth_getLogs', 'eth_getTransactionReceipt', 'eth_call', 'eth_syncing', 'eth_feeHistory'],
  ],
  [
    'may return null',
    ({ nullable }) => nullable,
    [
      ...['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getBlockTransactionCountByHash'],
      ...['eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionByHash', 'eth_getTransactionReceipt'],
      ...['eth_getUncleByBlockHashAndIndex', 'eth_getUncleCountByBlockNumber', 'zks_getBlockDetails'],
    ],
    ['eth_getBalance', 'eth_getLogs', 'eth_syncing', 'eth_call', 'zks_estimateFee'],
  ],
  [
    'return null if no upstream supports them',
    ({ nullWhenUnsupported }) => nullWhenUnsupported === true,
    ['eth_getUncleByBlockHashAndIndex', 'eth_getUncleByBlockNumberAndIndex'],
    ['eth_getBlockReceipts', 'eth_getUncleCountByBlockHash', 'eth_getTransactionByHash'],
  ],
  [
    'are lookups by hash',
    ({ looksUpHash }) => looksUpHash === true,
    [
      ...['eth_getBlockByHash', 'eth_getBlockTransactionCountByHash', 'eth_getTransactionByBlockHashAndIndex'],
      ...['eth_getTransactionByHash', 'eth_getTransactionReceipt', 'zks_getTransactionDetails'],
      ...['eth_getUncleByBlockHashAndIndex', 'eth_getUncleCountByBlockHash'],
    ],
    ['eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getBalance', 'eth_sendRawTransaction'],
  ],
  [
    'may revert',
    ({ reverts }) => reverts,
    ['eth_call', 'eth_createAccessList', 'eth_estimateGas', 'zks_estimateFee'],
    ['eth_simulateV1', 'eth_sendRawTransaction', 'eth_getStorageAt'],
  ],
  ['send transactions', ({ sends }) => sends === true, ['eth_sendRawTransaction'], ['eth_call', 'eth_newFilter']],
  [
    'are served by the gateway itself',
    ({ handledBy }) => handledBy === 'local',
    ['eth_accounts', 'eth_chainId', 'net_listening', 'net_version', 'web3_clientVersion'],
    ['eth_blockNumber', 'eth_subscribe', 'eth_newFilter', 'web3_sha3'],
  ],
  [
    'are handled by the filters of the network',
    ({ handledBy }) => handledBy === 'filters',
    ['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_newBlockFilter', 'eth_newFilter', 'eth_uninstallFilter'],
    ['eth_getLogs', 'eth_subscribe'],
  ],
  [
    'split',
    ({ splits }) => splits === 0,
    ['eth_getLogs'],
    ['eth_newFilter', 'eth_getFilterLogs', 'eth_getBlockReceipts'],
  ],
  [
    'belong to the caller’s WebSocket',
    ({ handledBy }) => handledBy === 'socket',
    ['eth_subscribe', 'eth_unsubscribe'],
    ['eth_newFilter', 'rpc.discover'],
  ],
])('some methods %s', (_, has, examples, others) => {
  expect(examples.filter((name) => !has(method(name)))).toEqual([]);
  expect(others.filter((name) => has(method(name)))).toEqual([]);
});

test('what a result says about the chain is stated where its type does not show it', () => {
  const stated = methods.flatMap(({ name, resultIs }) => (resultIs === undefined ? [] : [[name, resultIs]]));
  expect(Object.fromEntries(stated)).toMatchObject({
    eth_blockNumber: 'head-number',
    eth_syncing: 'sync-status',
    eth_getLogs: 'logs',
    eth_getBlockReceipts: 'block-objects',
    eth_getUncleByBlockHashAndIndex: 'uncle',
    eth_getUncleByBlockNumberAndIndex: 'uncle',
    eth_estimateGas: 'gas-estimate',
  });
});

test('an uncle, a list of logs and a list of receipts are always stated', () => {
  const unstated = methods.filter(
    ({ shape, resultKinds = [], resultIs, handledBy }) =>
      handledBy === undefined &&
      (shape?.type === 'Uncle' || (shape !== undefined && resultKinds.includes('array'))) &&
      resultIs === undefined,
  );
  expect(unstated.map(({ name }) => `${name}: add resultIs to its x-gatehouse in schemas/methods`)).toEqual([]);
});

test('lookups of sent transactions and the nonce of a sender are tracked', () => {
  const tracked = methods.flatMap(({ name, tracks }) => (tracks === undefined ? [] : [[name, tracks]]));
  expect(Object.fromEntries(tracked)).toMatchObject({
    eth_getTransactionByHash: { of: 'transaction', param: 0 },
    eth_getTransactionReceipt: { of: 'transaction', param: 0 },
    eth_getTransactionCount: { of: 'sender', param: 0 },
  });
});

test('an object requested by hash or number must have that hash or number', () => {
  const hash = { kind: 'hash', param: 0 };
  const number = { kind: 'quantity', param: 0 };
  const index = { field: 'transactionIndex', kind: 'quantity', param: 1 };
  const identities = methods.flatMap(({ name, identity }) => (identity === undefined ? [] : [[name, identity]]));
  expect(Object.fromEntries(identities)).toMatchObject({
    eth_getBlockByHash: [{ field: 'hash', ...hash }],
    eth_getBlockByNumber: [{ field: 'number', ...number }],
    eth_getTransactionByHash: [{ field: 'hash', ...hash }],
    eth_getTransactionReceipt: [{ field: 'transactionHash', ...hash }],
    eth_getTransactionByBlockHashAndIndex: [{ field: 'blockHash', ...hash }, index],
    eth_getTransactionByBlockNumberAndIndex: [{ field: 'blockNumber', ...number }, index],
    eth_getBlockReceipts: [
      { field: 'blockHash', ...hash },
      { field: 'blockNumber', ...number },
    ],
    eth_getLogs: [{ field: 'blockHash', ...hash }],
  });
});

test('hash parameters are marked, block parameters that accept a hash included', () => {
  const positions = methods.flatMap(({ name, hashParams }) => (hashParams.length === 0 ? [] : [[name, hashParams]]));
  expect(Object.fromEntries(positions)).toMatchObject({
    eth_getStorageAt: [2],
    eth_getBlockByHash: [0],
    eth_getUncleByBlockHashAndIndex: [0],
    eth_getTransactionReceipt: [0],
    eth_estimateGas: [1],
    eth_getTransactionByHash: [0],
    eth_getBalance: [1],
    eth_getCode: [1],
    eth_getTransactionCount: [1],
    eth_call: [1],
    eth_createAccessList: [1],
    eth_simulateV1: [1],
    eth_getLogs: [0],
    eth_getBlockReceipts: [0],
    eth_getTransactionByBlockHashAndIndex: [0],
    eth_getBlockTransactionCountByHash: [0],
    eth_getUncleCountByBlockHash: [0],
    eth_getProof: [2],
    eth_newFilter: [0],
    zks_getTransactionDetails: [0],
  });
});

test('the gas cap applies to methods that run the EVM only', () => {
  const capped = methods.flatMap(({ name, gasAt }) => (gasAt === undefined ? [] : [[name, gasAt]]));
  const call = { param: 0, path: ['gas'] };
  // geth estimates up to the gas limit of the overridden block (eth/gasestimator/gasestimator.go, `hi`).
  const block = { param: 3, path: ['gasLimit'] };
  expect(Object.fromEntries(capped)).toMatchObject({
    eth_estimateGas: [call, block],
    eth_call: [call, block],
    eth_createAccessList: [call],
    eth_simulateV1: [
      { param: 0, path: ['blockStateCalls', '*', 'blockOverrides', 'gasLimit'] },
      { param: 0, path: ['blockStateCalls', '*', 'calls', '*', 'gas'] },
    ],
  });
});

test('every kind of result is known', () => {
  const kinds = [
    'eth_getBlockByHash',
    'eth_getLogs',
    'net_listening',
    'eth_syncing',
    'eth_getFilterChanges',
    'eth_call',
  ];
  expect(kinds.map((name) => String(method(name).resultKinds))).toEqual([
    ...['object', 'array', 'boolean', 'object,boolean', 'array,array,array', 'string'],
  ]);
  // Every text has a pattern, except for free texts.
  const texts = methods.filter(({ resultKinds, resultPattern }) => String(resultKinds) === 'string' && !resultPattern);
  const free = readSources(join(packageRoot, 'schemas')).methods.filter(
    ({ result }) => result.schema.$ref === '#/components/schemas/Text',
  );
  expect(texts.map(({ name }) => name)).toEqual(free.map(({ name }) => name));
  expect(texts).not.toEqual([]);
});

test('code and the result of a call may be empty, a quantity may not', () => {
  const fits = (name: string, text: string): boolean => new RegExp(method(name).resultPattern ?? '').test(text);
  for (const name of ['eth_call', 'eth_getCode']) expect(fits(name, '0x')).toBe(true);
  for (const name of ['eth_gasPrice', 'eth_estimateGas', 'eth_sendRawTransaction'])
    expect(fits(name, '0x')).toBe(false);
});

test('a storage value is padded to 32 bytes; r and s of a signature are quantities', () => {
  expect(method('eth_getBalance').padResult).toBeUndefined();
  expect(method('eth_getStorageAt').padResult).toBe(32);
  const transaction = shape('eth_getTransactionByHash');
  expect(transaction?.quantities).toEqual(expect.arrayContaining(['r', 's', 'v', 'value', 'nonce', 'yParity']));
  expect(transaction?.nested.authorizationList?.quantities).toEqual(expect.arrayContaining(['r', 's', 'nonce']));
});

test('every quantity and address of blocks, transactions, receipts and logs is marked', () => {
  const ofBlock = shape('eth_getBlockByHash');
  expect(ofBlock?.quantities).toEqual([
    ...['number', 'difficulty', 'totalDifficulty', 'size', 'gasLimit', 'gasUsed', 'timestamp'],
    ...['baseFeePerGas', 'blobGasUsed', 'excessBlobGas', 'slotNumber'],
  ]);
  expect(ofBlock?.addresses).toEqual(['miner']);
  expect(ofBlock?.nested.withdrawals?.quantities).toEqual(['index', 'validatorIndex', 'amount']);
  expect(shape('eth_getTransactionByHash')?.addresses).toEqual(['from', 'to']);
  const ofReceipt = shape('eth_getTransactionReceipt');
  expect(ofReceipt?.addresses).toEqual(['contractAddress', 'from', 'to']);
  expect(ofReceipt?.nested.logs?.addresses).toEqual(['address']);
  expect(ofReceipt?.nested.logs?.quantities).toEqual([
    ...['blockNumber', 'logIndex', 'transactionIndex', 'blockTimestamp'],
  ]);
});

test('only results that are quantities lose their leading zeros', () => {
  const quantities = names(({ resultIsQuantity }) => resultIsQuantity === true);
  expect(quantities).toContain('eth_getBalance');
  expect(quantities).toContain('eth_getUncleCountByBlockHash');
  for (const name of ['eth_getStorageAt', 'eth_call', 'eth_getCode', 'eth_sendRawTransaction']) {
    expect(quantities).not.toContain(name);
  }
});

test('the flag of a block lookup decides whether transactions are whole', () => {
  const details = methods.flatMap(({ name, details }) => (details === undefined ? [] : [[name, details]]));
  const transactions = { field: 'transactions', param: 1 };
  expect(Object.fromEntries(details)).toMatchObject({
    eth_getBlockByHash: transactions,
    eth_getBlockByNumber: transactions,
  });
  expect(shape('eth_getBlockByHash')?.orHashes).toEqual(['transactions']);
});

test('objects of the specification are completed or required to be complete; others are forwarded unchanged', () => {
  const shapes = methods.flatMap(({ name, shape }) => (shape === undefined ? [] : [[name, shape] as const]));
  expect([...new Set(shapes.map(([, { type }]) => type))]).toEqual(
    expect.arrayContaining(['Block', 'Uncle', 'Receipt', 'Transaction', 'Log', 'FeeEstimate']),
  );
  const demanding = shapes.filter(([, { demand }]) => demand.length > 0);
  expect(Object.fromEntries(demanding.map(([name, { demand }]) => [name, demand]))).toMatchObject({
    zks_estimateFee: ['gas_limit', 'gas_per_pubdata_limit', 'max_fee_per_gas', 'max_priority_fee_per_gas'],
  });
});

test('required fields are filled with null, optional ones are not', () => {
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

test('objects in an array, and the same object under several names, have one shape', () => {
  expect(shape('eth_getBlockReceipts')).toEqual(shape('eth_getTransactionReceipt'));
  expect(shape('eth_getLogs')).toEqual(shape('eth_getTransactionReceipt')?.nested.logs);
  expect(shape('eth_getBlockByNumber')).toEqual(shape('eth_getBlockByHash'));
  expect(shape('eth_getUncleByBlockNumberAndIndex')).toEqual(shape('eth_getUncleByBlockHashAndIndex'));
  expect(shape('eth_getTransactionByBlockHashAndIndex')).toEqual(shape('eth_getTransactionByHash'));
  for (const name of ['eth_getProof', 'eth_feeHistory', 'eth_syncing']) expect(shape(name)).toBeUndefined();
  expect(shape('eth_accounts')).toBeUndefined();
});
