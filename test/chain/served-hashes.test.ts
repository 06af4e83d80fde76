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

  it('are remembered for 60 s at least, and for 90 s at most', () => {
    for (const addedAt of [0, 15_000, 29_999]) {
      const hashes = new ServedHashes();
      hashes.add('0xfirst', '0xblock', 0);
      hashes.add('0xhash', '0xblock', addedAt);
      hashes.add('0xother', '0xblock', 30_000);
      hashes.add('0xother', '0xblock', 60_000);
      expect([has(hashes, '0xhash', addedAt), has(hashes, '0xhash', addedAt + 60_000)]).toEqual([true, true]);
      expect(has(hashes, '0xhash', addedAt + 90_000)).toBe(false);
    }
  });

  it('are forgotten if nothing is served for 90 s', () => {
    const hashes = new ServedHashes();
    hashes.add('0xhash', '0xblock', 0);
    expect(has(hashes, '0xhash', 90_000)).toBe(false);
    hashes.add('0xother', '0xblock', 100_000);
    expect([has(hashes, '0xhash', 100_000), has(hashes, '0xother', 100_000)]).toEqual([false, true]);
  });

  it('are 45,000 at most, the newest ones', () => {
    const hashes = new ServedHashes();
    for (let index = 0; index < 60_001; index++) hashes.add(`0x${index}`, '0xblock', 0);
    expect([has(hashes, '0x29999', 0), has(hashes, '0x30000', 0), has(hashes, '0x60000', 0)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('are those of blocks and transactions, each with the hash of its block', () => {
    const hashes = new ServedHashes();
    hashes.add('0xtransaction', '0xblock', 0);
    hashes.add('0xtransaction', '0xother', 30_000);
    expect(hashes.blockOf('0xtransaction', 30_000)).toBe('0xother');
  });

  it('are new once in 30 s, and when they are in another block', () => {
    const hashes = new ServedHashes();
    const areNew = [0, 29_999, 30_000, 59_999, 60_000].map((now) => hashes.add('0xhash', '0xblock', now));
    expect(areNew).toEqual([true, false, true, false, true]);
    expect(hashes.add('0xhash', '0xother', 60_001)).toBe(true);
  });

  it('of another worker are new when they are served', () => {
    const hashes = new ServedHashes();
    const others = new ServedHashes();
    for (const now of [0, 30_000, 60_000]) others.add(`0x${now}`, '0xblock', now);
    hashes.adopt(others.all(80_000), 80_000);
    expect(['0x0', '0x30000', '0x60000'].map((hash) => hashes.blockOf(hash, 110_000))).toEqual(
      Array(3).fill('0xblock'),
    );
    expect(hashes.add('0x60000', '0xblock', 80_000)).toBe(true);
    expect(has(hashes, '0x0', 139_999)).toBe(true);
  });

  it('are texts only', () => {
    const hashes = new ServedHashes();
    hashes.add(undefined, '0xblock', 0);
    expect(has(hashes, 'undefined', 0)).toBe(false);
  });
});
