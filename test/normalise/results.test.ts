import { describe, expect, it } from 'vitest';
import { finalResult, failed, hash, ofResult, word } from './normalised.ts';

const lookups = [
  'eth_getBlockByHash',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
];

describe('a storage word', () => {
  it.each([
    ['0x', word('')],
    ['0x0', word('')],
    ['0x5', word('5')],
    ['0x05', word('5')],
    [word('2a'), word('2a')],
    [`0x${'AB'.repeat(32)}`, `0x${'AB'.repeat(32)}`],
  ])('of %s is %s', (given, padded) => {
    expect(ofResult('eth_getStorageAt', given)).toEqual(finalResult(padded));
  });

  it.each([`${word('1')}0`, `0x${'0'.repeat(66)}`, '5', '', '0xg', '0X5', ' 0x5', 5, true, {}, ['0x5']])(
    'is not %j: an upstream failure',
    (given) => {
      expect(ofResult('eth_getStorageAt', given)).toMatchObject(failed('malformed'));
    },
  );
});

describe('a result of the wrong type is an upstream failure:', () => {
  it.each([...lookups, 'zks_estimateFee'])('%s', (method) => {
    for (const given of ['0x', '', 5, true, false, [], [{}]]) {
      expect(ofResult(method, given, [hash('a')]), JSON.stringify(given)).toMatchObject(failed('malformed'));
    }
  });

  it('eth_estimateGas', () => {
    for (const given of ['0x', '21000', '', 21_000, {}, [], false]) {
      expect(ofResult('eth_estimateGas', given), JSON.stringify(given)).toMatchObject(failed('malformed'));
    }
    expect(ofResult('eth_estimateGas', '0x5208')).toEqual(finalResult('0x5208'));
    // Erigon returns it for a block that it does not have.
    expect(ofResult('eth_estimateGas', '0x0')).toMatchObject(failed('node-state'));
  });
});

describe('a null result', () => {
  it.each(lookups)('is final for a lookup, like an object without fields: %s', (method) => {
    expect(ofResult(method, null, [hash('a')])).toEqual(finalResult(null));
    expect(ofResult(method, {}, [hash('a')])).toEqual(finalResult(null));
  });

  it.each(['eth_getStorageAt', 'eth_estimateGas', 'zks_estimateFee'])('is an upstream failure for %s', (method) => {
    expect(ofResult(method, null)).toMatchObject(failed('node-state'));
    expect(ofResult(method, {})).toMatchObject(failed('malformed'));
  });
});

describe('an object that is not the requested one is an upstream failure:', () => {
  it.each([
    ['eth_getBlockByHash', 'hash'],
    ['eth_getTransactionByHash', 'hash'],
    ['eth_getTransactionReceipt', 'transactionHash'],
  ])('%s with another %s', (method, field) => {
    const place = { blockHash: hash('f'), status: '0x1' };
    expect(ofResult(method, { ...place, [field]: hash('A') }, [hash('a')])).toMatchObject({ final: true });
    for (const other of [hash('b'), null, 5, '', undefined]) {
      expect(ofResult(method, { ...place, [field]: other }, [hash('a')])).toMatchObject(failed('malformed'));
    }
  });
});

describe('a quantity', () => {
  it.each([
    ['0x0052', '0x52'],
    ['0x00', '0x0'],
    ['0x0', '0x0'],
    ['0x52', '0x52'],
    [`0x${'0'.repeat(60)}AbcD`, '0xAbcD'],
  ])('of %s is %s', (given, written) => {
    for (const method of ['eth_getBalance', 'eth_gasPrice', 'eth_getUncleCountByBlockNumber', 'zks_L1ChainId']) {
      expect(ofResult(method, given)).toEqual(finalResult(written));
    }
  });

  it('is not bytes, whose leading zeros stay', () => {
    expect(ofResult('eth_call', '0x0052')).toEqual(finalResult('0x0052'));
    expect(ofResult('eth_getCode', '0x00')).toEqual(finalResult('0x00'));
  });
});

describe('a fee', () => {
  const fee = {
    ...{ gas_limit: '0x1ea9a9', gas_per_pubdata_limit: '0x5340' },
    ...{ max_fee_per_gas: '0x17d7840', max_priority_fee_per_gas: '0x0' },
  };

  it('has its four quantities, without leading zeros, and all other members', () => {
    expect(ofResult('zks_estimateFee', { ...fee, extra: 1 })).toEqual(finalResult({ ...fee, extra: 1 }));
    const padded = { ...fee, gas_limit: '0x001ea9a9', max_priority_fee_per_gas: '0x00' };
    expect(ofResult('zks_estimateFee', padded)).toEqual(finalResult(fee));
  });

  it.each(
    Object.keys(fee).flatMap((name) =>
      [undefined, null, 'lots', '', '0x', '0xg', '21000', [], {}, true, -1, 1.5].map((value) => [name, value] as const),
    ),
  )('whose %s is %j is an upstream failure', (name, value) => {
    expect(ofResult('zks_estimateFee', { ...fee, [name]: value })).toMatchObject(failed('malformed'));
  });
});

describe('results outside the specification are passed on unchanged', () => {
  it('fee history of no blocks gets no baseFeePerGas', () => {
    const none = { oldestBlock: '0x0', gasUsedRatio: null };
    expect(ofResult('eth_feeHistory', { ...none }, ['0x0', 'latest', []])).toEqual(finalResult(none));
  });

  it.each([
    ['eth_getProof', { address: `0x${'1'.repeat(40)}`, storageProof: [{ key: '0x0' }] }],
    ['eth_createAccessList', { accessList: [] }],
    ['eth_syncing', { currentBlock: '0x1' }],
    ['zks_getBlockDetails', { number: 1 }],
  ])('%s gets no members', (method, result) => {
    expect(ofResult(method, structuredClone(result))).toEqual(finalResult(result));
  });
});
