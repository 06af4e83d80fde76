import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CheckedCalls } from '../../bench/checked-calls.ts';
import { openParts } from '../../bench/gateway-parts.ts';
import { Lines } from '../../bench/load.ts';
import { pages } from '../../bench/pages.ts';
import { Random } from '../../bench/random.ts';
import { badCalls, targetsTable } from '../../bench/report.ts';
import type { Results } from '../../bench/results.ts';
import { Rig } from '../../bench/rig.ts';
import { runScenario } from '../../bench/run-scenario.ts';
import { stepsOf } from '../../bench/step-list.ts';
import { walletMix, wholeBlocks, type CallKind } from '../../bench/wallet-calls.ts';
import { packageRoot } from '../../gateway/config/package.ts';

const rig = new Rig();

beforeAll(() => {
  // Compiles the gateway where that was not done yet.
  execFileSync(process.execPath, [join(packageRoot, 'bin/gatehouse.js'), '--version']);
});

afterAll(() => {
  rig.close();
});

it('measures a round of one scenario, with all calls answered rightly', async () => {
  const result = await runScenario({ kind: 'cost', name: 'single', title: '', calls: walletMix }, rig, 1, 0.05);
  if (result.kind !== 'cost') throw new Error('not of its kind');
  const [{ nginx, Gatehouse } = {}] = result.rounds;
  expect([nginx?.right, Gatehouse?.right].every((right = 0) => right > 0)).toBe(true);
  expect([Gatehouse?.cached, Gatehouse?.cpu]).toEqual([0, expect.any(Number)]);
  const results: Results = {
    ...{ date: '', command: '', machine: '', rounds: 1, seconds: 0.05, isPinned: false, scenarios: [result] },
  };
  expect(badCalls(results)).toBe(0);
  expect(targetsTable(results)).toMatch(/single calls, CPU +\| ≤ 3.5 × nginx \| [\d.,?]+ × nginx/);
});

it('sends calls at moments of chance, at a rate', async () => {
  const door = { port: await rig.upstreamPort, paths: ['/'] };
  const lines = await Lines.open(door, 8, new CheckedCalls([...walletMix, ...wholeBlocks]));
  const { p50, p99 } = await lines.pace(500, 0.2, new Random(1));
  lines.close();
  expect(lines.outcomes.right).toBeGreaterThan(50);
  expect(lines.outcomes).toMatchObject({ refused: 0, failed: 0 });
  expect(p99).toBeGreaterThanOrEqual(p50);
});

it('takes every step of a call', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${await rig.upstreamPort}` }];
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify({ name: 'Bench', chainId: 1, upstreams }));
  const parts = await openParts(folder);
  try {
    const [storage] = walletMix as [CallKind];
    const results = await Promise.all((await stepsOf(storage, parts)).map(({ work }) => work()));
    expect(results.length).toBe(10);
  } finally {
    await parts.close();
    rmSync(folder, { recursive: true });
  }
});

it('has written docs/benchmarks.md, docs/bench.svg and README from docs/bench.json', () => {
  for (const [path, text] of pages())
    expect([path, readFileSync(join(packageRoot, path), 'utf8')]).toEqual([path, text]);
});
