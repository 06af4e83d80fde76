import { describe, expect, it } from 'vitest';
import { finalResult, failed, hash, ofResult, word } from './normalised.ts';

const header =
  'number hash parentHash nonce sha3Uncles logsBloom transactionsRoot stateRoot receiptsRoot miner difficulty totalDifficulty extraData size gasLimit gasUsed timestamp uncles mixHash';
const transactionFields =
  'blockHash blockNumber from gas gasPrice hash input nonce r s v to transactionIndex type value';
const receiptFields =
  'blockHash blockNumber contractAddress cumulativeGasUsed effectiveGasPrice from gasUsed logs logsBloom to transactionHash transactionIndex type';
const logFields = 'address blockHash blockNumber data logIndex removed topics transactionHash transactionIndex';

/** An object whose fields of these names are null. */
function nulls(names: string): Record<string, null> {
  return Object.fromEntries(names.split(' ').map((name) => [name, null]));
}

const ofBlock = (block: object, isFull = true) =>
  ofResult('eth_getBlockByHash', { hash: hash('a'), ...block }, [hash('a'), isFull]);
const ofUncle = (uncle: object) => ofResult('eth_getUncleByBlockHashAndIndex', uncle, [hash('a'), '0x0']);
const ofTransaction = (transaction: object) =>
  ofResult('eth_getTransactionByHash', { hash: hash('b'), ...transaction }, [hash('b')]);
const ofReceipt = (receipt: object) =>
  ofResult('eth_getTransactionReceipt', { transactionHash: hash('b'), blockNumber: '0x5', ...receipt }, [hash('b')]);

describe('a block', () => {
  it('has every field of the specification, null if the node omits it', () => {
    expect(ofBlock({ number: '0x5' })).toEqual(
      finalResult({ ...nulls(header), transactions: null, hash: hash('a'), number: '0x5' }),
    );
  });

  it('keeps other fields, and gets none of them', () => {
    const extra = { baseFeePerGas: '0x7', withdrawals: [], author: null, step: '319565598', signature: '00' };
    expect(ofBlock(extra)).toEqual(finalResult({ ...nulls(header), transactions: null, hash: hash('a'), ...extra }));
  });

  it('has its whole transactions completed, and its hashes unchanged', () => {
    const whole = { hash: hash('b'), blockHash: hash('a'), r: word('1'), chainID: '0x7' };
    const { response } = ofBlock({ transactions: [whole] }) as { response: { result: object } };
    const completed = { ...nulls(transactionFields), ...whole, r: '0x1', chainId: '0x7' };
    Reflect.deleteProperty(completed, 'chainID');
    expect(response.result).toMatchObject({ transactions: [completed] });
    const hashes = [hash('c'), hash('d')];
    expect(ofBlock({ transactions: hashes }, false)).toMatchObject({ response: { result: { transactions: hashes } } });
  });

  it.each([
    [true, [hash('b')]],
    [true, [{ hash: hash('b') }, hash('c')]],
    [true, [null]],
    [true, {}],
    [true, 'none'],
    [false, [{ hash: hash('b') }]],
    [false, [hash('b'), { hash: hash('c') }]],
    [false, [5]],
    [false, {}],
  ])('requested with %s, whose transactions are %j, is an upstream failure', (isFull, transactions) => {
    expect(ofBlock({ transactions }, isFull)).toMatchObject(failed('malformed'));
    const params = ['latest', isFull];
    expect(ofResult('eth_getBlockByNumber', { number: '0x5', transactions }, params)).toMatchObject(
      failed('malformed'),
    );
  });

  it.each([true, false])('requested with %s may have no transactions', (isFull) => {
    expect(ofBlock({ transactions: [] }, isFull)).toMatchObject({ response: { result: { transactions: [] } } });
  });

  it('has its uncles unchanged', () => {
    expect(ofBlock({ uncles: [hash('c')], transactions: [] })).toMatchObject({
      response: { result: { uncles: [hash('c')] } },
    });
  });
});

describe('a transaction inside a block', () => {
  it.each([[{ blockHash: hash('0'), blockNumber: '0x0', transactionIndex: '0x0' }], [{ blockNumber: '0x5' }]])(
    'at %j is pending',
    (place) => {
      expect(ofBlock({ transactions: [{ hash: hash('b'), ...place }] })).toMatchObject({
        response: {
          result: { transactions: [{ blockHash: null, blockNumber: null, transactionIndex: null }] },
        },
      });
    },
  );
});

describe('a quantity that is a JSON number', () => {
  it('is hexadecimal in blocks, transactions, receipts and logs', () => {
    expect(ofBlock({ number: 5, baseFeePerGas: 7, transactions: [{ nonce: 0, yParity: 1 }] })).toMatchObject({
      response: { result: { number: '0x5', baseFeePerGas: '0x7', transactions: [{ nonce: '0x0', yParity: '0x1' }] } },
    });
    expect(
      ofReceipt({ blockHash: hash('a'), status: 1, gasUsed: 21_000, logs: [{ logIndex: 3, blockTimestamp: 9 }] }),
    ).toMatchObject({
      response: { result: { status: '0x1', gasUsed: '0x5208', logs: [{ logIndex: '0x3', blockTimestamp: '0x9' }] } },
    });
  });

  it.each([0.5, -1, Infinity])('stays unchanged if it is not a valid quantity: %d', (gasUsed) => {
    expect(ofBlock({ gasUsed })).toMatchObject({ response: { result: { gasUsed } } });
  });

  it('stays unchanged in fields outside the specification', () => {
    expect(ofBlock({ l1BatchNumber: 5, ratio: [0.5] })).toMatchObject({
      response: { result: { l1BatchNumber: 5, ratio: [0.5] } },
    });
  });
});

describe('a quantity with leading zeros', () => {
  it('loses them in blocks, withdrawals, transactions, receipts and logs', () => {
    const transactions = [{ hash: hash('b'), blockHash: hash('a'), nonce: '0x00', value: '0x0de0b6b3a7640000' }];
    const withdrawals = [{ index: '0x01', validatorIndex: '0x00', address: `0x${'0'.repeat(40)}`, amount: '0x0f' }];
    const ofWhole = ofBlock({ difficulty: '0x00', size: '0x0220', baseFeePerGas: '0x07', transactions, withdrawals });
    expect(ofWhole).toMatchObject({
      response: {
        result: {
          ...{ difficulty: '0x0', size: '0x220', baseFeePerGas: '0x7' },
          transactions: [{ nonce: '0x0', value: '0xde0b6b3a7640000' }],
          withdrawals: [{ index: '0x1', validatorIndex: '0x0', address: `0x${'0'.repeat(40)}`, amount: '0xf' }],
        },
      },
    });
    expect(
      ofReceipt({
        blockHash: hash('a'),
        status: '0x01',
        type: '0x02',
        blobGasPrice: '0x01',
        logs: [{ logIndex: '0x03' }],
      }),
    ).toMatchObject({
      response: { result: { status: '0x1', type: '0x2', blobGasPrice: '0x1', logs: [{ logIndex: '0x3' }] } },
    });
  });

  it('keeps them in hashes, bytes, nonces of blocks and fields outside the schema', () => {
    const given = { nonce: '0x0000000000000042', extraData: '0x00', mixHash: hash('0'), l1Fee: '0x00ff' };
    expect(ofBlock(given)).toMatchObject({ response: { result: given } });
  });
});

describe('an empty address', () => {
  it.each(['', '0x', '0x0'])('of %j is null', (none) => {
    const logs = [{ address: none }];
    expect(
      ofReceipt({ blockHash: hash('a'), status: '0x1', to: none, contractAddress: none, from: none, logs }),
    ).toMatchObject({
      response: { result: { to: null, contractAddress: null, from: null, logs: [{ address: null }] } },
    });
    expect(ofTransaction({ blockHash: hash('a'), to: none })).toMatchObject({ response: { result: { to: null } } });
    const transactions = [{ hash: hash('b'), blockHash: hash('a'), to: none }];
    expect(ofBlock({ miner: none, transactions })).toMatchObject({
      response: { result: { miner: null, transactions: [{ to: null }] } },
    });
  });

  it('is not the zero address, and no other field is an address', () => {
    const zero = `0x${'0'.repeat(40)}`;
    expect(ofReceipt({ blockHash: hash('a'), status: '0x1', to: zero, contractAddress: zero })).toMatchObject({
      response: { result: { to: zero, contractAddress: zero } },
    });
    expect(ofTransaction({ blockHash: hash('a'), input: '0x' })).toMatchObject({
      response: { result: { input: '0x' } },
    });
  });
});

describe('the pending block', () => {
  // geth 1.17.5; Hardhat 3 and ganache 7 return the number and hash of the next block, or of the latest one.
  it.each([
    [{ number: null, hash: null, nonce: null, miner: null, logsBloom: '0x00', transactions: [] }],
    [{ number: '0x05', hash: hash('a'), logsBloom: '0x00', transactions: [] }],
    [{ number: '0x5', parentHash: hash('a') }],
  ])('of %j is passed on unchanged', (given) => {
    for (const isFull of [true, false]) {
      const response = { kind: 'result', result: structuredClone(given) } as const;
      expect(ofResult('eth_getBlockByNumber', response.result, ['pending', isFull])).toEqual(finalResult(given));
    }
  });

  it('has transactions as the flag requests', () => {
    const whole = { transactions: [{ hash: hash('b'), blockHash: null, blockNumber: '0x5', r: '0x1' }] };
    expect(ofResult('eth_getBlockByNumber', structuredClone(whole), ['pending', true])).toEqual(finalResult(whole));
    expect(ofResult('eth_getBlockByNumber', whole, ['pending', false])).toMatchObject(failed('malformed'));
  });
});

describe('an uncle', () => {
  it('has the fields of a block and no transactions', () => {
    expect(ofUncle({ hash: hash('c'), transactions: [hash('d')] })).toEqual(
      finalResult({ ...nulls(header), hash: hash('c') }),
    );
  });

  it('may have any hash, because the parameter is the block’s hash', () => {
    expect(ofUncle({ hash: hash('a') })).toMatchObject({ final: true });
  });
});

describe('a transaction', () => {
  it('has every required field of the specification', () => {
    const given = { blockHash: hash('a'), blockNumber: '0x1' };
    expect(ofTransaction(given)).toEqual(finalResult({ ...nulls(transactionFields), ...given, hash: hash('b') }));
  });

  it.each([
    ['0x1', '0x1'],
    ['0x', '0x0'],
    ['0x0', '0x0'],
    [word(''), '0x0'],
    [word('ff'), '0xff'],
    [`0x${'f'.repeat(64)}`, `0x${'f'.repeat(64)}`],
    [`0x0${'f'.repeat(63)}`, `0x${'f'.repeat(63)}`],
    ['no number', 'no number'],
    [null, null],
  ])('has a signature of %s as %s', (given, written) => {
    const authorization = { chainId: '0x1', address: `0x${'1'.repeat(40)}`, nonce: '0x1', yParity: '0x0' };
    const authorizationList = [{ ...authorization, r: given, s: given }];
    const signature = { r: given, s: given, v: '0x1b', yParity: '0x00', authorizationList };
    expect(ofTransaction({ blockHash: hash('a'), ...signature })).toMatchObject({
      response: {
        result: {
          ...{ r: written, s: written, v: '0x1b', yParity: '0x0' },
          authorizationList: [{ ...authorization, r: written, s: written }],
        },
      },
    });
  });

  it.each([
    [{ chainID: '0x7' }, { chainId: '0x7' }],
    [{ chainId: '0x7' }, { chainId: '0x7' }],
    [{ chainId: '0x7', chainID: '0x8' }, { chainId: '0x7' }],
    [{ chainId: null, chainID: '0x8' }, { chainId: '0x8' }],
    [{}, {}],
  ])('has %j as %j: chainId is renamed, and never added', (given, chainId) => {
    const { response } = ofTransaction({ blockHash: hash('a'), ...given }) as { response: { result: object } };
    expect(Object.entries(response.result).filter(([name]) => /^chainid$/i.test(name))).toEqual(
      Object.entries(chainId),
    );
  });

  it.each([
    ['no place', {}],
    ['null for its place', { blockHash: null, blockNumber: null, transactionIndex: null }],
    ['a number and no block', { blockHash: null, blockNumber: '0x5', transactionIndex: '0x0' }],
    ['the zero hash for its block', { blockHash: hash('0'), blockNumber: '0x0', transactionIndex: '0x0' }],
  ])('with %s is pending', (_, place) => {
    expect(ofTransaction(place)).toMatchObject({
      response: { result: { blockHash: null, blockNumber: null, transactionIndex: null, hash: hash('b') } },
    });
  });

  it.each(['0x7e', '0x6a', '0x71', '0xff', '0x7b'])('may be of an unknown type like %s', (type) => {
    const given = { blockHash: hash('a'), type, sourceHash: hash('e'), mint: '0x0', accessList: null };
    expect(ofTransaction(given)).toMatchObject({ final: true, response: { result: given } });
  });
});

describe('a receipt', () => {
  const place = { blockHash: hash('a'), blockNumber: '0x1' };

  it('has every field of the specification', () => {
    expect(ofReceipt({ ...place, status: '0x1' })).toEqual(
      finalResult({ ...nulls(receiptFields), ...place, status: '0x1', transactionHash: hash('b') }),
    );
  });

  it('has logs with every field of the specification', () => {
    const log = { address: `0x${'1'.repeat(40)}`, transactionLogIndex: '0x0' };
    expect(ofReceipt({ ...place, status: '0x1', logs: [log, {}] })).toMatchObject({
      response: { result: { logs: [{ ...nulls(logFields), ...log }, nulls(logFields)] } },
    });
  });

  it.each([
    [{ status: '0x1' }, { status: '0x1' }],
    [{ status: '0x0' }, { status: '0x0' }],
    [{ status: '0x01' }, { status: '0x1' }],
    [{ status: '0x00', root: '0x00' }, { status: '0x0' }],
    [{ status: '0x1', root: hash('a') }, { status: '0x1' }],
    [{ status: '0x1', root: null }, { status: '0x1' }],
    [{ status: '0x1', root: '0x' }, { status: '0x1' }],
    [{ status: '0x1', root: '' }, { status: '0x1' }],
    [{ status: '0x', root: hash('a') }, { root: hash('a') }],
    [{ root: hash('a') }, { root: hash('a') }],
    [{ root: hash('a'), status: null }, { root: hash('a') }],
  ])('has exactly one of root and status: of %j stays %j', (given, cached) => {
    const { response } = ofReceipt({ ...place, ...given }) as { response: { result: object } };
    const found = Object.entries(response.result).filter(([name]) => name === 'root' || name === 'status');
    expect(Object.fromEntries(found)).toEqual(cached);
  });

  it.each<[object]>([
    [{}],
    [{ status: null }],
    [{ status: '0x2' }],
    [{ status: true }],
    [{ root: null, status: null }],
    [{ root: '0x' }],
    [{ root: '0x', status: null }],
    [{ root: '' }],
    [{ status: '0x' }],
    [{ status: '0x', root: '' }],
  ])('with %j for root and status is an upstream failure', (given) => {
    expect(ofReceipt({ ...place, ...given })).toMatchObject(failed('node-state'));
  });

  it.each([
    [{}],
    [{ blockHash: null, status: '0x1' }],
    [{ blockNumber: null, logs: [] }],
    [{ blockHash: hash('0'), blockNumber: '0x0', status: '0x1' }],
  ])('of a pending transaction, %j, is null', (given) => {
    expect(ofReceipt(given)).toEqual(finalResult(null));
  });

  it('has a hexadecimal blockTimestamp if anvil returns a number', () => {
    expect(ofReceipt({ ...place, status: '0x1', blockTimestamp: 1_795_219_666 })).toMatchObject({
      response: { result: { blockTimestamp: '0x6b00e0d2' } },
    });
  });

  it('keeps the fields of layers 2, decimal fractions included', () => {
    const extra = {
      l1Fee: '0xe780df01003bc',
      l1FeeScalar: '0.684',
      gasUsedForL1: '0x0',
      timeboosted: false,
      l2ToL1Logs: [],
    };
    expect(ofReceipt({ ...place, status: '0x1', ...extra })).toMatchObject({ response: { result: extra } });
  });
});
