import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { SimulationResult } from '../../bench/simulation/simulate.ts';
import { packageRoot } from '../../gateway/config/package.ts';

/** An hour takes 10 to 20 s on a slow core, and more if others use it. It only ends a run that hangs: load changes no result. */
export const HOUR_TIMEOUT_MS = 300_000;

/** A simulated clock that never ends would take a core from all further tests. */
const limits = { timeout: HOUR_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;

/** Runs a network of three upstreams in a process of its own. @param args as of `npm run bench -- simulation` */
export function runSimulation(...args: string[]): Promise<SimulationResult> {
  const program = join(packageRoot, 'dist/bench/simulation/simulation.js');
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...args], limits, (_, stdout, stderr) => {
      try {
        resolve({
          ...(JSON.parse(stdout) as Omit<SimulationResult, 'texts'>),
          texts: stderr.split('\n').filter(Boolean),
        });
      } catch {
        reject(new Error(`the simulation ended without a result: ${stderr}`));
      }
    });
  });
}
