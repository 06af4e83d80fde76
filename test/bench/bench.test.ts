import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CheckedCalls } from '../../bench/checked-calls.ts';
import { openParts } from '../../bench/gateway-parts.ts';
import { LoadGenerator } from '../../bench/load.ts';
import { questionTables } from '../../bench/question-tables.ts';
import { Random } from '../../bench/random.ts';
import { countIncorrect } from '../../bench/report.ts';
import type { Results } from '../../bench/results.ts';
import { Rig } from '../../bench/rig.ts';
import { runScenario } from '../../bench/run-scenario.ts';
import { stepsOf } from '../../bench/step-list.ts';
import { walletMix, wholeBlocks, type CallKind } from '../../bench/wallet-calls.ts';
import { packageRoot } from '../../gateway/config/package.ts';

const rig = new Rig();

beforeAll(() => {
  // Compiles the gateway if needed.
  execFileSync(process.execPath, [join(packageRoot, 'bin/gatehouse.js'), '--version']);
});

afterAll(() => {
  rig.close();
});

it('measures a round of one scenario, in which all responses are correct', async () => {
  const result = await runScenario({ kind: 'cost', name: 'single', title: '', calls: walletMix }, rig, 1, 0.05);
  if (result.kind !== 'cost') throw new Error('not a cost scenario');
  const [{ nginx, Gatehouse } = {}] = result.rounds;
  expect([nginx?.correct, Gatehouse?.correct].every((correct = 0) => correct > 0)).toBe(true);
  expect([Gatehouse?.cached, Gatehouse?.cpuUs]).toEqual([0, expect.any(Number)]);
  const results: Results = {
    ...{ date: '', command: '', machine: '', rounds: 1, seconds: 0.05, isPinned: false, scenarios: [result] },
  };
  expect(countIncorrect(results)).toBe(0);
  expect(questionTables(results.scenarios).join('\n')).toMatch(/single calls +\| .*≤ 3.2 × nginx: [\d.,?]+, /);
});

it('sends calls at random times with a given rate', async () => {
  const endpoint = { port: await rig.upstreamPort, paths: ['/'] };
  const load = await LoadGenerator.open(endpoint, 8, new CheckedCalls([...walletMix, ...wholeBlocks]));
  const { p50, p99 } = await load.sendAtRate(500, 0.2, new Random(1));
  load.close();
  expect(load.outcomes.correct).toBeGreaterThan(50);
  expect(load.outcomes).toMatchObject({ rejected: 0, failed: 0 });
  expect(p99).toBeGreaterThanOrEqual(p50);
});

it('runs every step of a call', async () => {
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
