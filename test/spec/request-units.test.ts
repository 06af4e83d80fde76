import { describe, expect, it } from 'vitest';
import { unitsPattern } from '../../gateway/network-files/options/units-option.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { handlerOf } from '../../gateway/spec/handlers.ts';
import { passThrough } from '../../gateway/spec/method-spec.ts';
import { compileUnits, unitsTextOf, type UnitsTable } from '../../gateway/spec/request-units.ts';

const address = `0x${'ab'.repeat(20)}`;
const specOf = (name: string) => methods.find((method) => method.name === name) ?? passThrough(name);
const unitsOf = (name: string, params: readonly unknown[], tables: readonly UnitsTable[] = [], head = 1_000n): number =>
  compileUnits(specOf(name), tables, () => head)(params);

describe('the request units of a call', () => {
  it.each([
    ['eth_getBalance', [address, 'latest'], 1],
    ['eth_chainId', [], 0.1],
    ['rpc.discover', [], 0.1],
    ['eth_getProof', [address, [], 'latest'], 1],
    ['eth_getProof', [address, ['0x0', '0x1', '0x2'], 'latest'], 4],
    ['eth_call', [{}, 'latest'], 1],
    ['eth_call', [{}, 'latest', null], 1],
    ['eth_call', [{}, 'latest', { [address]: { balance: '0x1' } }], 1.1],
    [
      'eth_call',
      [{}, 'latest', { [address]: { stateDiff: { '0x0': '0x1', '0x1': '0x1' }, state: { '0x0': '0x0' } } }],
      1.4,
    ],
    ['eth_estimateGas', [{}, 'latest', { [address]: {} }], 2.1],
    [
      'eth_simulateV1',
      [{ blockStateCalls: [{ calls: [{}, {}] }, { calls: [{}], stateOverrides: { [address]: {} } }, {}] }],
      7.1,
    ],
    ['eth_getLogs', [{}], 2.01],
    ['eth_getLogs', [{ blockHash: `0x${'11'.repeat(32)}` }], 2.01],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x64' }], 3],
    ['eth_getLogs', [{ fromBlock: '0x385', toBlock: 'latest' }], 3],
    ['eth_getLogs', [{ fromBlock: 'earliest', toBlock: 'finalized' }], 12.01],
    // Above the head means the head.
    ['eth_getLogs', [{ fromBlock: '0x385', toBlock: '0xffffffffffff' }], 3],
    ['eth_getLogs', [{ fromBlock: '0x64', toBlock: '0x1' }], 2.01],
    ['debug_traceTransaction', [`0x${'11'.repeat(32)}`], 20],
    ['debug_traceBlockByNumber', ['0x1'], 50],
    ['debug_getRawBlock', ['0x1'], 5],
    ['trace_replayBlockTransactions', [], 50],
    ['bor_getAuthor', [], 1],
  ] as const)('%s %j: %d', (name, params, units) => {
    expect(unitsOf(name, params)).toBe(units);
  });

  it('are at least 1 for what an upstream serves', () => {
    const cheap = methods.filter((spec) => handlerOf(spec) === undefined && Number(unitsTextOf(spec, [])) < 1);
    expect(cheap.map(({ name }) => name)).toEqual([]);
  });

  it('have a maximum for a long range of blocks', () => {
    expect(unitsOf('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }], [], 10_000_000n)).toBe(100);
  });

  it('count one block while the head is unknown', () => {
    const units = compileUnits(specOf('eth_getLogs'), [], () => undefined);
    expect(units([{ fromBlock: '0x0', toBlock: 'latest' }])).toBe(2.01);
    expect(units([{ fromBlock: '0x1', toBlock: '0x64' }])).toBe(3);
  });

  it('are replaced by the first table that has the method, by the longest name', () => {
    const network: UnitsTable = { 'debug_trace*': 7, 'debug_traceBlock*': '8 + blocks', 'eth_*': 3 };
    const file: UnitsTable = { debug_traceCall: 9, eth_chainId: 4, zks_estimateFee: '5 + overrides' };
    const textOf = (name: string): string => unitsTextOf(specOf(name), [network, file]);
    expect(textOf('debug_traceCall')).toBe('7');
    expect(textOf('debug_traceBlockByHash')).toBe('8 + blocks');
    expect(textOf('eth_chainId')).toBe('3');
    expect(textOf('zks_estimateFee')).toBe('5 + overrides');
    expect(textOf('trace_block')).toBe('10');
    expect(textOf('net_version')).toBe('0.1');
    // A method without a schema has nothing to count.
    expect(unitsOf('debug_traceBlockByHash', [], [network])).toBe(8);
  });
});

describe('a formula of request units', () => {
  it.each(['1', '0.25', '2 + blocks / 100', 'blocks', '1 + 2 * calls + overrides / 10', 'min(1 + blocks, 50)'])(
    'may be %s',
    (text) => {
      expect(text).toMatch(new RegExp(unitsPattern));
    },
  );

  it.each([
    '',
    '-1',
    '1 - blocks',
    '2 +blocks',
    'blocks / 0',
    'blocks * 2',
    'nothing',
    '1 + topics',
    '0.0001',
    'min(1)',
    '1 + min(1, 2)',
    'process.exit()',
  ])('may not be %j', (text) => {
    expect(text).not.toMatch(new RegExp(unitsPattern));
  });
});
