import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { measureCost } from './measure-cost.ts';
import { measureLatency } from './measure-latency.ts';
import { measureMemory } from './measure-memory.ts';
import { measureRemote } from './measure-remote.ts';
import { onAllCores } from './pinning.ts';
import { node } from './processes.ts';
import type { ScenarioResult } from './results.ts';
import type { Rig } from './rig.ts';
import type { Scenario } from './scenarios.ts';

export async function runScenario(
  scenario: Scenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<ScenarioResult> {
  const { name, kind } = scenario;
  switch (kind) {
    case 'cost':
      return { name, kind, rounds: await measureCost(scenario, rig, rounds, seconds) };
    case 'latency':
      return { name, kind, rounds: await measureLatency(scenario, rig, rounds, seconds) };
    case 'remote':
      return { name, kind, rounds: await measureRemote(scenario, rig, rounds, seconds) };
    case 'memory':
      return { name, kind, rounds: await measureMemory(scenario, rig, rounds, seconds) };
    case 'script': {
      const file = join(dirname(fileURLToPath(import.meta.url)), `${scenario.script}.js`);
      const { stdout } = await promisify(execFile)(...onAllCores(node, [file, ...(scenario.args ?? [])]));
      return { name, kind, text: stdout.trim() };
    }
  }
}
