import { describe, expect, it } from 'vitest';
import { ServedHashes } from '../../gateway/chain/served-hashes.ts';

const has = (hashes: ServedHashes, hash: string, now: number): boolean => hashes.blockOf(hash, now) !== undefined;

describe('served hashes', () => {
  it('are not taken for others with the same start, as on a development chain', () => {
    const hashes = new ServedHashes();
    const hash = (end: string): string => `0x${end.padStart(64, '0')}`;
    hashes.add(hash('1'), hash('a'), 0);
    hashes.add(hash('2'), hash('b'), 0);
    expect(['1', '2', '3'].map((end) => hashes.blockOf(hash(end), 1))).toEqual([hash('a'), hash('b'), undefined]);
  });

  it('are remembered for 30 s at least, and for 60 s at most', () => {
    for (const addedAt of [0, 15_000, 29_999]) {
      const hashes = new ServedHashes();
      hashes.add('0xfirst', '0xblock', 0);
      hashes.add('0xhash', '0xblock', addedAt);
      hashes.add('0xother', '0xblock', 30_000);
      expect([has(hashes, '0xhash', addedAt), has(hashes, '0xhash', addedAt + 30_000)]).toEqual([true, true]);
      expect(has(hashes, '0xhash', addedAt + 60_000)).toBe(false);
    }
  });

  it('are forgotten if nothing is served for a minute', () => {
    const hashes = new ServedHashes();
    hashes.add('0xhash', '0xblock', 0);
    expect(has(hashes, '0xhash', 60_000)).toBe(false);
    hashes.add('0xother', '0xblock', 90_000);
    expect([has(hashes, '0xhash', 90_000), has(hashes, '0xother', 90_000)]).toEqual([false, true]);
  });

  it('are 40,000 at most, the newest ones', () => {
    const hashes = new ServedHashes();
    for (let index = 0; index < 60_001; index++) hashes.add(`0x${index}`, '0xblock', 0);
    expect([has(hashes, '0x0', 0), has(hashes, '0x39999', 0), has(hashes, '0x60000', 0)]).toEqual([false, false, true]);
  });

  it('are those of blocks and transactions, each with the hash of its block', () => {
    const hashes = new ServedHashes();
    hashes.add('0xtransaction', '0xblock', 0);
    hashes.add('0xtransaction', '0xother', 30_000);
    expect(hashes.blockOf('0xtransaction', 30_000)).toBe('0xother');
  });

  it('are texts only', () => {
    const hashes = new ServedHashes();
    hashes.add(undefined, '0xblock', 0);
    expect(has(hashes, 'undefined', 0)).toBe(false);
  });
});
