import { expect, it } from 'vitest';
import { readRangeFilter, resolveRange } from '../../gateway/ranges/range-filter.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { passThrough } from '../../gateway/spec/method-spec.ts';

const logs = methods.find(({ name }) => name === 'eth_getLogs') ?? passThrough('');
const traces = passThrough('trace_filter', 0);
const address = `0x${'12'.repeat(20)}`;
const hash = `0x${'34'.repeat(32)}`;

it('has the parameters of a part', () => {
  const filter = readRangeFilter(logs, [
    { fromBlock: '0x1', toBlock: 'latest', blockHash: null, address, topics: [hash] },
  ]);
  expect(filter).toMatchObject({ fromBlock: '0x1', toBlock: 'latest', addresses: [] });
  expect(filter?.paramsOf({ from: 16, to: 31 }, undefined)).toEqual([
    { fromBlock: '0x10', toBlock: '0x1f', address, topics: [hash] },
  ]);
});

it('has the parameters of a part for some addresses', () => {
  const filter = readRangeFilter(logs, [{ address: [address, hash, address] }]);
  expect(filter?.addresses).toEqual([address, hash]);
  expect(filter?.paramsOf({ from: 1, to: 1 }, [hash])).toEqual([{ fromBlock: '0x1', toBlock: '0x1', address: [hash] }]);
});

it('has a key without the range', () => {
  const keyOf = (filter: object) => readRangeFilter(logs, [filter])?.key;
  expect(keyOf({ fromBlock: '0x1', address })).toBe(keyOf({ toBlock: '0x2', address }));
  expect(keyOf({ fromBlock: '0x1', address })).not.toBe(keyOf({ fromBlock: '0x1' }));
});

it.each([
  ['a block by its hash', logs, { blockHash: hash }],
  ['pending blocks', logs, { toBlock: 'pending' }],
  ['pending blocks', logs, { fromBlock: 'pending' }],
  ['no filter', logs, undefined],
  ['a page of traces', traces, { fromBlock: '0x1', toBlock: '0x2', after: 0 }],
  ['a page of traces', traces, { fromBlock: '0x1', toBlock: '0x2', count: 10 }],
  ['blocks that are no quantities', traces, { fromBlock: '0xzz', toBlock: '0x2' }],
  ['blocks that are no texts', traces, { fromBlock: 1, toBlock: 2 }],
])('does not split %s', (_, spec, filter) => {
  expect(readRangeFilter(spec, [filter])).toBeUndefined();
});

it('does not split other methods', () => {
  expect(readRangeFilter(passThrough('trace_block'), [{ fromBlock: '0x1', toBlock: '0x2' }])).toBeUndefined();
});

const fetch = (block: string) => {
  const number = { latest: 500, safe: 480, finalized: 400 }[block] ?? Number(block);
  return Promise.resolve(number > 500 ? undefined : { number, hash: `hash of ${number}` });
};

it.each([
  ['0x10', '0x1f4', 16, 500],
  ['earliest', 'latest', 0, 500],
  ['0x10', '0x3e8', 16, 500],
  ['finalized', 'safe', 400, 480],
  ['latest', 'latest', 500, 500],
])('the range %s to %s is %i to %i', async (fromBlock, toBlock, from, to) => {
  const range = await resolveRange({ fromBlock, toBlock }, fetch, () => false);
  expect(range).toEqual({ from, to, hash: `hash of ${to}` });
});

it('a final last block is not requested', async () => {
  const range = await resolveRange(
    { fromBlock: '0x10', toBlock: '0x20' },
    () => Promise.reject(new Error('requested')),
    () => true,
  );
  expect(range).toEqual({ from: 16, to: 32, hash: undefined });
});
