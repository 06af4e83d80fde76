import { describe, expect, it } from 'vitest';
import { passThrough } from '../../gateway/spec/method-spec.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { finalResult, failed, hash, ofError, ofResult, word } from './normalised.ts';

const place = { blockHash: hash('a'), blockNumber: '0x10', transactionIndex: '0x1' };
const receipt = (more: object = {}): object => ({ ...place, transactionHash: hash('b'), status: '0x01', ...more });

describe('a text', () => {
  it.each(['0x', '0x00', '0xABcd', `0x${'ab'.repeat(100_000)}`])('of bytes is passed on', (bytes) => {
    for (const method of ['eth_call', 'eth_getCode']) expect(ofResult(method, bytes)).toEqual(finalResult(bytes));
  });

  it.each(['0x1', 'ab', '', '0xzz', 5, false, [], {}])('is not bytes: %j', (given) => {
    expect(ofResult('eth_call', given)).toMatchObject(failed('malformed'));
  });

  it('of a sent transaction is a hash', () => {
    expect(ofResult('eth_sendRawTransaction', hash('b'))).toEqual(finalResult(hash('b')));
    expect(ofResult('eth_sendRawTransaction', '0x1')).toMatchObject(failed('malformed'));
  });

  it('of a quantity has digits', () => {
    for (const method of ['eth_gasPrice', 'eth_getBalance', 'eth_getBlockTransactionCountByHash']) {
      expect(ofResult(method, '0x0')).toEqual(finalResult('0x0'));
      expect(ofResult(method, '0x')).toMatchObject(failed('malformed'));
      expect(ofResult(method, 5)).toMatchObject(failed('malformed'));
    }
  });
});

describe('null', () => {
  it.each([
    ...['eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getTransactionByBlockHashAndIndex'],
    ...['eth_getUncleCountByBlockNumber', 'zks_getBlockDetails'],
  ])('is final if %s finds nothing', (method) => {
    expect(ofResult(method, null)).toEqual(finalResult(null));
  });

  it.each(['eth_call', 'eth_getLogs', 'eth_getBalance', 'eth_getProof', 'eth_syncing', 'eth_sendRawTransaction'])(
    'is an upstream failure for %s',
    (method) => {
      expect(ofResult(method, null)).toMatchObject(failed('node-state'));
    },
  );
});

describe('eth_syncing', () => {
  it('is false or an object', () => {
    expect(ofResult('eth_syncing', false)).toEqual(finalResult(false));
    const status = { startingBlock: '0x0', currentBlock: '0x1', highestBlock: '0x2', healedTrienodes: '0x0' };
    expect(ofResult('eth_syncing', { ...status })).toEqual(finalResult(status));
    for (const given of ['false', 0, []]) expect(ofResult('eth_syncing', given)).toMatchObject(failed('malformed'));
  });
});

describe('a block that is not the requested one is an upstream failure', () => {
  const block = (number: unknown): object => ({ number, hash: hash('a') });

  it('by number, with any leading zeros', () => {
    for (const [requested, given] of [
      ['0x10', '0x10'],
      ['0x0010', '0x10'],
      ['0x10', '0x010'],
      ['0xAB', '0xab'],
      ['0x0', '0x00'],
    ]) {
      expect(ofResult('eth_getBlockByNumber', block(given), [requested, false])).toMatchObject({ final: true });
    }
    for (const given of ['0x11', '0x1', null, undefined, 16]) {
      expect(ofResult('eth_getBlockByNumber', block(given), ['0x10', false])).toMatchObject(failed('malformed'));
    }
  });

  it('but a tag may be any block', () => {
    for (const tag of ['latest', 'pending', 'earliest']) {
      expect(ofResult('eth_getBlockByNumber', block(null), [tag, false])).toMatchObject({ final: true });
    }
  });
});

describe('a transaction of a block', () => {
  const byHash = (transaction: object) =>
    ofResult('eth_getTransactionByBlockHashAndIndex', { hash: hash('b'), ...transaction }, [hash('a'), '0x1']);
  const byNumber = (transaction: object, block = '0x10') =>
    ofResult('eth_getTransactionByBlockNumberAndIndex', { hash: hash('b'), ...transaction }, [block, '0x01']);

  it('is completed', () => {
    for (const outcome of [byHash({ ...place, r: word('1') }), byNumber({ ...place, r: word('1') })]) {
      expect(outcome).toMatchObject({ final: true, response: { result: { ...place, r: '0x1', value: null } } });
    }
  });

  it('must be of that block and at that place', () => {
    for (const wrong of [{ blockHash: hash('c') }, { transactionIndex: '0x2' }, { blockHash: null }]) {
      expect(byHash({ ...place, ...wrong })).toMatchObject(failed('malformed'));
    }
    expect(byNumber({ ...place, blockNumber: '0x11' })).toMatchObject(failed('malformed'));
    expect(byNumber({ ...place, blockNumber: '0x11' }, 'latest')).toMatchObject({ final: true });
  });
});

describe('the receipts of a block', () => {
  const of = (receipts: unknown, block: unknown = '0x10') => ofResult('eth_getBlockReceipts', receipts, [block]);

  it('are completed one by one', () => {
    const anvils = receipt({ blockTimestamp: 5, root: hash('d'), logs: [{}] });
    expect(of([receipt(), anvils])).toMatchObject({
      final: true,
      response: {
        result: [
          { status: '0x1', to: null },
          { status: '0x1', blockTimestamp: '0x5', logs: [{ topics: null }] },
        ],
      },
    });
    expect(anvils).not.toHaveProperty('root');
    expect(of([])).toEqual(finalResult([]));
  });

  it('must be of that block, by number or by hash', () => {
    const others = [receipt(), receipt({ blockNumber: '0x11' })];
    expect(of(others)).toMatchObject(failed('malformed'));
    expect(of(others, 'latest')).toMatchObject({ final: true });
    for (const block of [hash('a'), { blockHash: hash('a') }]) {
      expect(of([receipt()], block)).toMatchObject({ final: true });
      expect(of([receipt(), receipt({ blockHash: hash('c') })], block)).toMatchObject(failed('malformed'));
    }
    expect(of([receipt()], { blockNumber: '0x11' })).toMatchObject(failed('malformed'));
  });

  it('are an upstream failure if one has neither root nor status, or is malformed', () => {
    expect(of([receipt(), receipt({ status: null })])).toMatchObject(failed('node-state'));
    for (const none of [null, 5, '0x', []]) expect(of([receipt(), none])).toMatchObject(failed('malformed'));
  });

  it('of the pending block are null', () => {
    expect(of([receipt({ blockHash: null })], 'pending')).toEqual(finalResult(null));
  });
});

describe('logs', () => {
  const place = {
    ...{ blockHash: hash('a'), blockNumber: '0x1', logIndex: '0x0' },
    ...{ transactionHash: hash('b'), transactionIndex: '0x0' },
  };
  const log = { ...place, topics: [], address: `0x${'1'.repeat(40)}` };
  const of = (logs: unknown, filter: object) => ofResult('eth_getLogs', logs, [filter]);

  it('have every field of the specification', () => {
    expect(of([{ ...log }], {})).toMatchObject({ final: true, response: { result: [{ ...log, data: null }] } });
  });

  it('of one block must be of that block', () => {
    expect(of([{ ...log }], { blockHash: hash('a') })).toMatchObject({ final: true });
    expect(of([{ ...log }], { blockHash: hash('b') })).toMatchObject(failed('malformed'));
    expect(of([{ ...log }], { fromBlock: '0x1', toBlock: '0x2' })).toMatchObject({ final: true });
  });

  it('are a list', () => {
    for (const none of [{}, { ...log }, '0x', false]) expect(of(none, {})).toMatchObject(failed('malformed'));
    for (const none of [[], null, '0x', 5]) expect(of([{ ...log }, none], {})).toMatchObject(failed('malformed'));
  });
});

it('a pass-through method returns any result of the node', () => {
  const spec = passThrough('debug_traceTransaction');
  for (const result of [null, 5, '', 'x', {}, [], false, { structLogs: [] }]) {
    expect(normalise(spec, [], { kind: 'result', result })).toEqual(finalResult(result));
  }
});

it('a revert of eth_call is code 3 whatever the code was', () => {
  expect(ofError('eth_call', -32000, 'execution reverted')).toMatchObject({ response: { code: 3, data: '0x' } });
  expect(ofError('eth_getBalance', 3, 'execution reverted')).not.toMatchObject({ response: { code: 3 } });
});
