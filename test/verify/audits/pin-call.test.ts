import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';
import { isAuditable, pinCall, withBlock, withGas } from '../../../gateway/verify/pin-call.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import { passThrough, type MethodSpec } from '../../../gateway/spec/method-spec.ts';

const specOf = (name: string): MethodSpec => methods.find((method) => method.name === name) as MethodSpec;
const [hash, address] = [`0x${'1a'.repeat(32)}`, `0x${'cc'.repeat(20)}`];
const result = (value: unknown) => ({ kind: 'result', result: value }) as const;
const pin = (method: string, params: readonly unknown[], value: unknown = '0x1') =>
  pinCall(specOf(method), params, result(value), 100n);

describe('audited methods', () => {
  it('are those whose result depends on one block and on nothing else', () => {
    const audited = methods.filter(isAuditable).map(({ name }) => name);
    expect(audited).toEqual(
      expect.arrayContaining([
        'eth_getBalance',
        'eth_call',
        'eth_getLogs',
        'eth_getTransactionReceipt',
        'eth_getBlockByNumber',
      ]),
    );
    const others = ['eth_blockNumber', 'eth_gasPrice', 'eth_estimateGas', 'eth_feeHistory', 'eth_syncing'];
    others.push('eth_sendRawTransaction', 'eth_chainId', 'eth_getFilterLogs', 'eth_simulateV1', 'eth_createAccessList');
    expect(audited.filter((name) => others.includes(name))).toEqual([]);
    expect(isAuditable(passThrough('debug_traceTransaction'))).toBe(false);
  });

  it('are those of docs/reference/verification.md', () => {
    const [, section = ''] = readFileSync(join(packageRoot, 'docs/reference/verification.md'), 'utf8').split(
      '## Audited methods',
    );
    const named = [...(section.split('\n\n')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(named).toEqual(methods.filter(isAuditable).map(({ name }) => name));
  });
});

describe('a call', () => {
  it.each([
    ['eth_getBlockByHash', [hash, false]],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_getBalance', [address, { blockHash: hash }]],
    ['eth_getLogs', [{ blockHash: hash, address }]],
  ])('of %s that names its block by hash stays as it is', (method, params) => {
    expect(pin(method, params)).toEqual({ kind: 'exact', params });
  });

  it.each([['latest'], ['safe'], ['finalized'], ['0x64']])('for the state at %s is pinned by hash', (tag) => {
    const pinned = pin('eth_getBalance', [address, tag]);
    expect(pinned).toEqual({ kind: 'by-hash', number: 100n, params: [address, '0x64'] });
    expect(withBlock(specOf('eth_getBalance'), pinned?.params ?? [], { blockHash: hash })).toEqual([
      address,
      { blockHash: hash },
    ]);
  });

  it('for state without a block is pinned, too', () => {
    const pinned = pin('eth_call', [{ to: address }]);
    expect(pinned).toEqual({ kind: 'by-hash', number: 100n, params: [{ to: address }, '0x64'] });
  });

  it('for a block is pinned by the number in the result, which names the hash', () => {
    const pinned = { kind: 'by-number', params: ['0x5', true], number: 5n };
    expect(pin('eth_getBlockByNumber', ['latest', true], { number: '0x5', hash })).toEqual(pinned);
    const receipts = [{ blockNumber: '0x5', blockHash: hash }];
    expect(pin('eth_getBlockReceipts', ['latest'], receipts)).toEqual({ ...pinned, params: ['0x5'] });
  });

  it('for logs is pinned by the numbers of both ends', () => {
    const ends = (filter: object) => pin('eth_getLogs', [filter], []);
    const pinned = { kind: 'by-number', number: 100n };
    expect(ends({ fromBlock: '0x5', toBlock: 'latest', address })).toEqual({
      ...pinned,
      params: [{ fromBlock: '0x5', toBlock: '0x64', address }],
    });
    expect(ends({ address })).toEqual({ ...pinned, params: [{ fromBlock: '0x64', toBlock: '0x64', address }] });
    expect(ends({ fromBlock: 'earliest', toBlock: '0x9' })).toMatchObject({
      number: 9n,
      params: [{ fromBlock: '0x0' }],
    });
    expect(ends({ fromBlock: '0x65', toBlock: 'latest' })).toBeUndefined();
  });

  it('at the pending block, or at an unknown head, is not audited', () => {
    expect(pin('eth_getBalance', [address, 'pending'])).toBeUndefined();
    expect(pin('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'pending' }], [])).toBeUndefined();
    expect(pinCall(specOf('eth_getBalance'), [address, 'latest'], result('0x1'), undefined)).toBeUndefined();
  });
});

describe('a repeated call', () => {
  it.each([
    ['has a gas limit within the gas caps of nodes', { to: address }, { to: address, gas: '0x989680' }],
    ['has no higher one', { to: address, gas: '0x989681' }, { to: address, gas: '0x989680' }],
    ['keeps a lower one', { to: address, gas: '0x5208' }, { to: address, gas: '0x5208' }],
  ])('%s', (_, given, repeated) => {
    expect(withGas(specOf('eth_call'), [given, 'latest', {}, {}])).toEqual([repeated, 'latest', {}, {}]);
  });

  it('of another method stays as it is', () => {
    const params = [{ address }];
    expect(withGas(specOf('eth_getLogs'), params)).toBe(params);
  });
});
