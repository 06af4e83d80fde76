import { describe, expect, it } from 'vitest';
import { answer, elsewhere, hash, ofResult, word } from './judged.ts';

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
    expect(ofResult('eth_getStorageAt', given)).toEqual(answer(padded));
  });

  it.each([`${word('1')}0`, `0x${'0'.repeat(66)}`, '5', '', '0xg', '0X5', ' 0x5', 5, true, {}, ['0x5']])(
    'is not %j: another upstream is asked',
    (given) => {
      expect(ofResult('eth_getStorageAt', given)).toMatchObject(elsewhere('malformed'));
    },
  );
});

describe('a result of the wrong kind makes another upstream be asked:', () => {
  it.each([...lookups, 'zks_estimateFee'])('%s', (method) => {
    for (const given of ['0x', '', 5, true, false, [], [{}]]) {
      expect(ofResult(method, given, [hash('a')]), JSON.stringify(given)).toMatchObject(elsewhere('malformed'));
    }
  });

  it('eth_estimateGas', () => {
    for (const given of ['0x', '21000', '', 21_000, {}, [], false]) {
      expect(ofResult('eth_estimateGas', given), JSON.stringify(given)).toMatchObject(elsewhere('malformed'));
    }
    expect(ofResult('eth_estimateGas', '0x5208')).toEqual(answer('0x5208'));
    // Erigon says so of a block that it does not have.
    expect(ofResult('eth_estimateGas', '0x0')).toMatchObject(elsewhere('node-state'));
  });
});

describe('nothing, as a result,', () => {
  it.each(lookups)('is null for a lookup, and so is an object without fields: %s', (method) => {
    expect(ofResult(method, null, [hash('a')])).toEqual(answer(null));
    expect(ofResult(method, {}, [hash('a')])).toEqual(answer(null));
  });

  it.each(['eth_getStorageAt', 'eth_estimateGas', 'zks_estimateFee'])('is no answer to %s', (method) => {
    expect(ofResult(method, null)).toMatchObject(elsewhere('node-state'));
    expect(ofResult(method, {})).toMatchObject(elsewhere('malformed'));
  });
});

describe('an object that is not the one asked for makes another upstream be asked:', () => {
  it.each([
    ['eth_getBlockByHash', 'hash'],
    ['eth_getTransactionByHash', 'hash'],
    ['eth_getTransactionReceipt', 'transactionHash'],
  ])('%s with another %s', (method, field) => {
    const place = { blockHash: hash('f'), status: '0x1' };
    expect(ofResult(method, { ...place, [field]: hash('A') }, [hash('a')])).toMatchObject({ final: true });
    for (const other of [hash('b'), null, 5, '', undefined]) {
      expect(ofResult(method, { ...place, [field]: other }, [hash('a')])).toMatchObject(elsewhere('malformed'));
    }
  });
});

it('a fee has its four fields, and what else the node gives', () => {
  const fee = { gas_limit: '0x1', max_fee_per_gas: '0x2', extra: 1 };
  expect(ofResult('zks_estimateFee', { ...fee })).toEqual(
    answer({ ...fee, gas_per_pubdata_limit: null, max_priority_fee_per_gas: null }),
  );
});
