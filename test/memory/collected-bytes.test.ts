import { describe, expect, it } from 'vitest';
import { CollectedBytes } from '../../gateway/memory/collected-bytes.ts';

function collect(chunks: readonly Buffer[]): CollectedBytes {
  const collected = new CollectedBytes();
  for (const chunk of chunks) collected.add(chunk);
  return collected;
}

describe('collected chunks', () => {
  it.each([
    ['none', []],
    ['one', [70_000]],
    ['small ones', [1, 1, 300, 4_095, 1]],
    ['large ones', [5_000, 70_000]],
    ['small and large ones', [1, 70_000, 1, 2, 4_096, 3, 0, 65_536, 65_535, 1]],
    ['more small ones than a block', Array.from({ length: 200_000 }, () => 1)],
  ])('are joined in order: %s', (_name, lengths) => {
    const all = Buffer.from(
      Array.from({ length: lengths.reduce((sum, length) => sum + length, 0) }, (_, at) => at % 251),
    );
    let from = 0;
    const collected = collect(lengths.map((length) => all.subarray(from, (from += length))));
    expect(collected.length).toBe(all.length);
    expect(collected.join().equals(all)).toBe(true);
  });

  it('of one byte take about their size, and not a Buffer each', () => {
    const before = process.memoryUsage();
    const collected = collect([]);
    for (let at = 0; at < 2_000_000; at++) collected.add(Buffer.from([at & 255]));
    const after = process.memoryUsage();
    const grown = after.heapUsed + after.external - before.heapUsed - before.external;
    expect(grown).toBeLessThan(60_000_000);
    expect(collected.length).toBe(2_000_000);
  });

  it('are dropped by join, which gives all of them', () => {
    const collected = collect([Buffer.from('abc'), Buffer.from('d')]);
    expect(collected.join().toString()).toBe('abcd');
    expect(collected.length).toBe(0);
    collected.add(Buffer.from('e'));
    expect(collected.join().toString()).toBe('e');
  });

  it('are dropped by clear', () => {
    const collected = collect([Buffer.from('abc'), Buffer.from('d')]);
    collected.clear();
    expect(collected.length).toBe(0);
    expect(collected.join().length).toBe(0);
  });
});
