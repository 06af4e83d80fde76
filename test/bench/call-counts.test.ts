import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { countOverHttp } from '../../bench/count-over-http.ts';
import { FixedUpstream } from '../../bench/fixed-upstream.ts';
import { stopAll } from '../../bench/processes.ts';
import { walletMix, type CallKind } from '../../bench/wallet-calls.ts';

/** Lower them when a change makes a call cheaper. */
const max = { promises: 4, timers: 1, functions: 225 };

const upstream = new FixedUpstream();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-counts-'));

afterAll(() => {
  stopAll();
  upstream.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

it('a call over HTTP creates no more promises and timers, and runs no more functions, than it did', async () => {
  const [storage] = walletMix as [CallKind];
  const counts = await countOverHttp(folder, await upstream.listen(), storage);
  // Zero would show that nothing was counted.
  expect(Math.min(counts.promises, counts.timers, counts.functions)).toBeGreaterThan(0);
  expect(counts.promises).toBeLessThanOrEqual(max.promises);
  expect(counts.timers).toBeLessThanOrEqual(max.timers);
  expect(counts.functions).toBeLessThanOrEqual(max.functions);
});
