import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { onPath } from '../test/support/find-program.ts';
import { figuresOf, median, show, spread } from './figures.ts';
import { addToPages, writePages } from './pages.ts';
import { pinThisProcess } from './pinning.ts';
import { commandLine, node, option } from './processes.ts';
import { countIncorrect, detailsOf, pageOf } from './report.ts';
import type { Results, ScenarioResult } from './results.ts';
import { Rig } from './rig.ts';
import { runScenario } from './run-scenario.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/**
 * Measures what a call costs the gateway, nginx, HAProxy (if installed) and a bare Node proxy. Linux only: CPU time and
 * memory are from /proc.
 *
 *   npm run bench -- --list                                      lists the scenarios
 *   npm run bench                                                runs all scenarios
 *   npm run bench -- --quick                                     fewer scenarios, two short rounds: about 25 minutes with three peers
 *   npm run bench -- --scenario single,rate --rounds 3 --seconds 1
 *   npm run bench -- --peer erpc=PATH --peer proxyd=PATH         compares these gateways too (bench/peers.ts)
 *   npm run bench -- --node PATH                                 runs the gateway on this Node, not on its own
 *   npm run bench -- --runtime NAME=PATH                         also runs it on this Node, in the same rounds
 *   npm run bench -- --write                                     writes docs/bench.*, docs/benchmarks.md and README (also with --quick)
 *   npm run bench -- --scenario single --add                     replaces only these scenarios in docs/bench.json, and writes the pages
 *   npm run bench -- --pages                                     writes the same pages from docs/bench.json
 *
 * The results so far are in dist/bench.json after each scenario, so that a run that is stopped keeps them.
 */
const args = process.argv.slice(2);
if (args.includes('--list')) for (const { name, title } of scenarios) console.log(`${name.padEnd(14)} ${title}`);
else if (args.includes('--pages')) writePages();
else if (args.includes('--quick')) await bench(selectScenarios(), option('rounds', 2), option('seconds', 0.6));
else await bench(selectScenarios(), option('rounds', 5), option('seconds', 1.5));

async function bench(selected: readonly Scenario[], rounds: number, seconds: number): Promise<void> {
  if (args.includes('--write') && args.includes('--add'))
    throw new Error('--write replaces what --add retains: use one');
  const isPinned = pinThisProcess();
  if (!isPinned) console.error('only one core, or no taskset: figures vary more');
  const scenarioResults: ScenarioResult[] = [];
  const rig = new Rig();
  const command = commandLine('npm run bench');
  const date = new Date().toISOString().slice(0, 10);
  const common = { date, command, machine: machine(), rounds, seconds, isPinned };
  try {
    for (const scenario of selected) {
      console.error(scenario.title);
      const result = await runScenario(scenario, rig, rounds, seconds);
      for (const { title, unit, values } of figuresOf(result)) {
        console.error(`  ${title}: ${show(median(values))} ${unit}, ${spread(values)}`);
      }
      scenarioResults.push(result);
      const soFar: Results = { ...common, scenarios: scenarioResults };
      writeFileSync(join(packageRoot, 'dist/bench.json'), `${JSON.stringify(soFar)}\n`);
    }
  } finally {
    rig.close();
  }
  const results: Results = { ...common, scenarios: scenarioResults };
  // The page needs scenarios that `--add` may leave as they are.
  if (args.includes('--add')) addToPages(results);
  else console.log(`${pageOf(results)}\n${detailsOf(results)}`);
  if (args.includes('--write')) writePages(results);
  const incorrect = countIncorrect(results);
  if (incorrect === 0) return;
  console.error(`${incorrect} calls were rejected or failed`);
  process.exitCode = 1;
}

function selectScenarios(): readonly Scenario[] {
  const isQuick = args.includes('--quick');
  const at = args.indexOf('--scenario');
  if (at === -1) return isQuick ? scenarios.filter(({ isDetail }) => isDetail !== true) : scenarios;
  if (args.includes('--write')) throw new Error('--write requires all scenarios, or --quick');
  const names = (args[at + 1] ?? '').split(',');
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown.length > 0) throw new Error(`no scenario named ${unknown.join(', ')}: see --list`);
  return scenarios.filter(({ name }) => names.includes(name));
}

function nodeVersion(): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
}

function machine(): string {
  const versions = [
    ['nginx', '-v'],
    ['haproxy', '-v'],
  ].flatMap(([name = '', option = '']) => {
    const program = onPath([name]);
    if (program === undefined) return [];
    // nginx writes its version to standard error.
    const output = execFileSync('sh', ['-c', '"$1" "$2" 2>&1', 'sh', program, option], { encoding: 'utf8' });
    return `${name} ${/\d+\.\d+\.\d+/.exec(output)?.[0] ?? '?'}`;
  });
  const processor = `${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}`;
  return [processor, `Node ${nodeVersion()}`, ...versions].join(', ');
}
