import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countCalls, type CountedWay } from '../../bench/count-calls.ts';
import { FixedUpstream } from '../../bench/fixed-upstream.ts';
import { stopAll } from '../../bench/processes.ts';
import { finalMix, walletMix, type CallKind } from '../../bench/wallet-calls.ts';

/** Lower them when a change makes a call cheaper. The bytes have a margin of 10 %: they vary with what V8 optimises. */
const limits: readonly [
  CountedWay,
  { promises: number; timers: number; functions: number; bytes: number; retained: number },
][] = [
  ['over HTTP', { promises: 2, timers: 1, functions: 228, bytes: 23_000, retained: 900 }],
  ['over WebSocket', { promises: 2, timers: 1, functions: 210, bytes: 18_500, retained: 900 }],
  ['cached, over HTTP', { promises: 0, timers: 0, functions: 119, bytes: 12_000, retained: 600 }],
];

const upstream = new FixedUpstream();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-counts-'));
let upstreamPort = 0;

beforeAll(async () => {
  upstreamPort = await upstream.listen();
});
afterAll(() => {
  stopAll();
  upstream.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

it.each(limits)(
  'a call creates no more promises, timers and bytes, and runs no more functions, than it did: %s',
  async (way, max) => {
    const [storage] = (way === 'cached, over HTTP' ? finalMix : walletMix) as [CallKind];
    const counts = await countCalls(join(folder, way), upstreamPort, storage, way);
    // Zero would show that nothing was counted.
    expect(Math.min(counts.functions, counts.bytes)).toBeGreaterThan(0);
    for (const [name, limit] of Object.entries(max)) {
      expect(counts[name as keyof typeof max], name).toBeLessThanOrEqual(limit);
    }
  },
);
