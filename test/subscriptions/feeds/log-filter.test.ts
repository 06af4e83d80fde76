import { describe, expect, it } from 'vitest';
import { RpcError } from '../../../gateway/jsonrpc/errors.ts';
import { matchesLog, logFilterKey, parseLogFilter, sizeOf } from '../../../gateway/chain/logs/log-filter.ts';
import type { OwnedSteps } from '../../../gateway/event-loop/owned-steps.ts';
import { LogFilterGroups } from '../../../gateway/subscriptions/feeds/log-filter-groups.ts';
import { filterBits, hashToBits, LogsBloom } from '../../../gateway/chain/logs/logs-bloom.ts';
import { addressOf, hashOf } from '../scripted-chain.ts';

const [a, b] = [addressOf('a'), addressOf('b')];
const [t, u, v] = [hashOf('t'), hashOf('u'), hashOf('v')];
const subscriber = { deliver: () => undefined, markGap: () => undefined };

type FilterParams = Parameters<typeof parseLogFilter>[0];

function isMatch(params: FilterParams, log: { address: string; topics: string[] }, block = 5n): boolean {
  const index = new LogFilterGroups();
  index.add(parseLogFilter(params), subscriber, 0);
  return [...index.matching(log, block)].length === 1;
}

describe('a filter matches the same logs as geth’s', () => {
  it.each<[FilterParams, string, string[], boolean]>([
    [{}, a, [], true],
    [{ address: null, topics: null, fromBlock: null }, a, [], true],
    [{ address: a }, a, [], true],
    [{ address: a.toUpperCase().replace('0X', '0x') }, a, [], true],
    [{ address: b }, a, [], false],
    [{ address: [b, a] }, a, [], true],
    [{ address: [] }, a, [], true],
    [{ topics: [] }, a, [], true],
    [{ topics: [t] }, a, [t], true],
    [{ topics: [t] }, a, [t, u], true],
    [{ topics: [t] }, a, [u, t], false],
    [{ topics: [t] }, a, [], false],
    // The log needs a topic at each position of the filter, even for any topic.
    [{ topics: [null] }, a, [], false],
    [{ topics: [null] }, a, [u], true],
    [{ topics: [t, null] }, a, [t], false],
    [{ topics: [null, u] }, a, [t, u], true],
    [{ topics: [[t, u], v] }, a, [u, v], true],
    [{ topics: [[t, u], v] }, a, [v, v], false],
    [{ topics: [[]] }, a, [v], true],
    // geth: a null in a list makes it any.
    [{ topics: [[t, null]] }, a, [v], true],
    [{ address: a, topics: [t] }, b, [t], false],
    [{ fromBlock: '0x5' }, a, [], true],
    [{ fromBlock: '0x6' }, a, [], false],
    [{ fromBlock: 'earliest', toBlock: '0x5' }, a, [], true],
    [{ fromBlock: '0x1', toBlock: '0x4' }, a, [], false],
    [{ fromBlock: 'latest', toBlock: 'latest' }, a, [], true],
  ])('%j: %s %j is %s', (params, address, topics, expected) => {
    expect(isMatch(params, { address, topics })).toBe(expected);
  });

  it.each<FilterParams>([
    { blockHash: t },
    { fromBlock: 'pending' },
    { toBlock: 'safe' },
    { fromBlock: 'finalized', toBlock: 'latest' },
    { toBlock: '0x5' },
    { fromBlock: '0x6', toBlock: '0x5' },
    { topics: [null, null, null, null, null] },
  ])('%j is rejected', (params) => {
    expect(() => parseLogFilter(params)).toThrow(RpcError);
    expect(() => parseLogFilter(params)).toThrow(/^invalid params: filter: expected /);
  });

  it('has the same key as an equal filter, and another key than others', () => {
    const same: FilterParams[] = [
      { address: [a, b], topics: [[t, u]] },
      { address: [b, a, a], topics: [[u, t]] },
    ];
    expect(new Set(same.map((params) => logFilterKey(parseLogFilter(params)))).size).toBe(1);
    const others: FilterParams[] = [
      ...[{}, { address: a }, { address: b }, { topics: [t] }, { topics: [null] }, { topics: [null, t] }],
      ...[{ topics: [t, null] }, { topics: [[t, u]] }, { topics: [t, u] }, { fromBlock: '0x1' }, { fromBlock: '0x2' }],
      ...[{ fromBlock: '0x1', toBlock: '0x2' }, { address: a, topics: [t] }, { topics: [null, null] }],
    ];
    expect(new Set(others.map((params) => logFilterKey(parseLogFilter(params)))).size).toBe(others.length);
  });

  it('counts its addresses and topics', () => {
    expect(sizeOf(parseLogFilter({ address: [a, b], topics: [t, null, [u, v]] }))).toBe(5);
    expect(sizeOf(parseLogFilter({}))).toBe(0);
  });

  it('checks the range of blocks', () => {
    expect(matchesLog(parseLogFilter({ fromBlock: '0x2' }), { address: a, topics: [] }, 1n)).toBe(false);
  });
});

describe('a bloom filter', () => {
  // Words from geth's test of BloomLookup (core/types/bloom9_test.go).
  it('has the bits that the yellow paper defines', () => {
    const bloom = Buffer.alloc(256);
    for (const text of ['testtest', 'test', 'hallo', 'other']) {
      for (const bit of hashToBits(`0x${Buffer.from(text).toString('hex')}`)) {
        bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
      }
    }
    const whole = new LogsBloom(`0x${bloom.toString('hex')}`);
    const has = (text: string): boolean =>
      whole.mayContain({ address: `0x${Buffer.from(text).toString('hex')}`, topics: [] });
    expect(['testtest', 'test', 'hallo', 'other'].map(has)).toEqual([true, true, true, true]);
    expect(['tes', 'lo'].map(has)).toEqual([false, false]);
  });

  it('is compared with the bits of a filter, which are computed in steps', async () => {
    const bloom = Buffer.alloc(256);
    for (const value of [a, t, u])
      for (const bit of hashToBits(value)) bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
    const whole = new LogsBloom(`0x${bloom.toString('hex')}`);
    let steps = 0;
    const counted = {
      afterSlice: () => {
        steps++;
      },
    } as unknown as OwnedSteps;
    const params = [
      {},
      { address: a },
      { address: b },
      { address: [b, a], topics: [null, [v, u]] },
      { topics: [t, v] },
    ];
    for (const filter of params.map(parseLogFilter))
      expect(whole.mayMatchBits(await filterBits(filter, counted))).toBe(whole.mayMatch(filter));
    expect(steps).toBe(8);
  });

  it('without bits, or from an invalid value, is empty', () => {
    for (const text of [undefined, null, '0x', `0x${'00'.repeat(256)}`, '0x01']) {
      expect(new LogsBloom(text).isEmpty).toBe(true);
    }
  });
});

describe('groups of equal filters', () => {
  it('end with their last subscriber', () => {
    const index = new LogFilterGroups();
    const unsubscribes = [
      index.add(parseLogFilter({ address: [a, b] }), subscriber, 0),
      index.add(parseLogFilter({ address: [b, a] }), { ...subscriber }, 3),
      index.add(parseLogFilter({}), subscriber, 0),
    ];
    expect(index.size).toBe(2);
    expect(index.subscribers()).toHaveLength(3);
    for (const unsubscribe of unsubscribes) unsubscribe();
    expect(index.size).toBe(0);
    expect([...index.matching({ address: a, topics: [] }, 1n)]).toEqual([]);
  });
});
