import { expect, it, vi } from 'vitest';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { LogChain } from './log-chain.ts';
import { responseWith, withLogNodes } from './with-log-nodes.ts';

const MAX_BYTES = 400_000_000;

/** The highest number of bytes that the memory budget had taken. */
function peakOfMemory(): () => number {
  let peak = 0;
  const { take } = MemoryBudget.prototype;
  vi.spyOn(MemoryBudget.prototype, 'take').mockImplementation(function (this: MemoryBudget, holder, bytes) {
    take.call(this, holder, bytes);
    peak = Math.max(peak, this.bytes);
  });
  return () => peak;
}

it('200,000 logs of 100,000 blocks, through a node with 2,000 blocks, one with 10,000 results and one with 5 MB, pruned', async () => {
  const peak = peakOfMemory();
  const chain = new LogChain(100_000, () => 2);
  const limits = [{ maxBlocks: 2_000 }, { maxResults: 10_000 }, { maxBytes: 5_000_000, prunedBelow: 50_000 }];
  const env = { BODIES_MAX_BYTES: String(MAX_BYTES) };
  const { getLogs, gateway, ranges } = await withLogNodes(chain, limits, { maxResponseBytes: 100_000_000 }, env);
  const startedAt = performance.now();
  const { status, text } = await getLogs(0, 'latest');
  console.log(
    performance.now() - startedAt,
    text.length,
    text.slice(0, 300),
    ranges().map((r) => [r.length, JSON.stringify(r).slice(0, 400)]),
  );
  expect(status).toBe(200);
  const expected = responseWith(chain.logs(0, 99_999));
  expect(text.length).toBe(expected.length);
  // Not toBe, which would print both texts.
  expect(text === expected).toBe(true);
  console.log(peak());
  expect(peak()).toBeLessThan(MAX_BYTES);
});
