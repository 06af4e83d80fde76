import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { chartOf } from './chart.ts';
import { detailsOf, pageOf, readmeSentence } from './report.ts';
import type { Results } from './results.ts';
import { scenarios as defined } from './scenarios.ts';

const resultsFile = join(packageRoot, 'docs/bench.json');
const [START, END] = ['<!-- bench -->', '<!-- end of bench -->'];

/** The files generated from docs/bench.json: text by path. */
export function pages(): Map<string, string> {
  const results = JSON.parse(readFileSync(resultsFile, 'utf8')) as Results;
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
  const [start, end] = [readme.indexOf(START), readme.indexOf(END)];
  if (start === -1 || end < start) throw new Error(`README.md has no ${START} … ${END}`);
  const before = readme.slice(0, start + START.length);
  return new Map([
    ['docs/benchmarks.md', pageOf(results)],
    ['docs/measured/benchmarks.md', detailsOf(results)],
    ['docs/bench.svg', chartOf(results)],
    ['README.md', `${before}\n\n${readmeSentence(results)}\n\n${readme.slice(end)}`],
  ]);
}

/** @param results undefined: those in docs/bench.json */
export function writePages(results?: Results): void {
  if (results !== undefined) writeFileSync(resultsFile, `${JSON.stringify(results, rounded, 2)}\n`);
  for (const [path, text] of pages()) writeFileSync(join(packageRoot, path), text);
}

/** Replaces the results of these scenarios in docs/bench.json. */
export function addToPages({ scenarios, ...run }: Results): void {
  const { date, command, machine, rounds, seconds } = run;
  const earlier = JSON.parse(readFileSync(resultsFile, 'utf8')) as Results;
  const added = scenarios.map((scenario) => ({ ...scenario, measured: { date, command, machine, rounds, seconds } }));
  const others = earlier.scenarios.filter(({ name }) => !scenarios.some((one) => one.name === name));
  const order = defined.map(({ name }) => name);
  const all = [...others, ...added].toSorted((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
  writePages({ ...earlier, scenarios: all });
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value;
}
