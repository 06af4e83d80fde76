import { describe, expect, it } from 'vitest';
import { RpcError } from '../../../gateway/jsonrpc/errors.ts';
import { matchesLog, logFilterKey, parseLogFilter, sizeOf } from '../../../gateway/subscriptions/feeds/log-filter.ts';
import { LogFilterIndex } from '../../../gateway/subscriptions/feeds/log-filter-index.ts';
import { hashToBits, LogsBloom } from '../../../gateway/subscriptions/feeds/logs-bloom.ts';
import { addressOf, hashOf } from '../scripted-chain.ts';

const [a, b] = [addressOf('a'), addressOf('b')];
const [t, u, v] = [hashOf('t'), hashOf('u'), hashOf('v')];
const nobody = { deliver: () => undefined, markGap: () => undefined };

type Given = Parameters<typeof parseLogFilter>[0];

function fits(given: Given, log: { address: string; topics: string[] }, block = 5n): boolean {
  const groups = new LogFilterIndex();
  groups.add(parseLogFilter(given), nobody, 0);
  return [...groups.matching(log, block)].length === 1;
}

describe('a filter lets through what geth’s does', () => {
  it.each<[Given, string, string[], boolean]>([
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
    // There must be as many topics as places, also where any will do.
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
  ])('%j: %s %j is %s', (given, address, topics, expected) => {
    expect(fits(given, { address, topics })).toBe(expected);
  });

  it.each<Given>([
    { blockHash: t },
    { fromBlock: 'pending' },
    { toBlock: 'safe' },
    { fromBlock: 'finalized', toBlock: 'latest' },
    { toBlock: '0x5' },
    { fromBlock: '0x6', toBlock: '0x5' },
    { topics: [null, null, null, null, null] },
  ])('%j is refused', (given) => {
    expect(() => parseLogFilter(given)).toThrow(RpcError);
    expect(() => parseLogFilter(given)).toThrow(/^invalid params: filter: expected /);
  });

  it('has one name for the same wish, and others for others', () => {
    const same: Given[] = [
      { address: [a, b], topics: [[t, u]] },
      { address: [b, a, a], topics: [[u, t]] },
    ];
    expect(new Set(same.map((given) => logFilterKey(parseLogFilter(given)))).size).toBe(1);
    const others: Given[] = [
      ...[{}, { address: a }, { address: b }, { topics: [t] }, { topics: [null] }, { topics: [null, t] }],
      ...[{ topics: [t, null] }, { topics: [[t, u]] }, { topics: [t, u] }, { fromBlock: '0x1' }, { fromBlock: '0x2' }],
      ...[{ fromBlock: '0x1', toBlock: '0x2' }, { address: a, topics: [t] }, { topics: [null, null] }],
    ];
    expect(new Set(others.map((given) => logFilterKey(parseLogFilter(given)))).size).toBe(others.length);
  });

  it('knows how much it holds', () => {
    expect(sizeOf(parseLogFilter({ address: [a, b], topics: [t, null, [u, v]] }))).toBe(5);
    expect(sizeOf(parseLogFilter({}))).toBe(0);
  });

  it('looks at a range of blocks by itself', () => {
    expect(matchesLog(parseLogFilter({ fromBlock: '0x2' }), { address: a, topics: [] }, 1n)).toBe(false);
  });
});

describe('a bloom filter', () => {
  // Block 0xff…: geth's own test of BloomLookup uses such words (core/types/bloom9_test.go).
  it('sets the bits that the yellow paper says', () => {
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

  it('of nothing, and of what is none, is empty', () => {
    for (const text of [undefined, null, '0x', `0x${'00'.repeat(256)}`, '0x01']) {
      expect(new LogsBloom(text).isEmpty).toBe(true);
    }
  });
});

describe('groups', () => {
  it('end with their last listener', () => {
    const groups = new LogFilterIndex();
    const leaves = [
      groups.add(parseLogFilter({ address: [a, b] }), nobody, 0),
      groups.add(parseLogFilter({ address: [b, a] }), { ...nobody }, 3),
      groups.add(parseLogFilter({}), nobody, 0),
    ];
    expect(groups.size).toBe(2);
    expect(groups.subscribers()).toHaveLength(3);
    for (const leave of leaves) leave();
    expect(groups.size).toBe(0);
    expect([...groups.matching({ address: a, topics: [] }, 1n)]).toEqual([]);
  });
});
