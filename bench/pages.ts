import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { chartOf } from './chart.ts';
import { pageOf, readmeBlock } from './report.ts';
import type { Results } from './results.ts';

const resultsFile = join(packageRoot, 'docs/bench.json');
const [START, END] = ['<!-- bench -->', '<!-- end of bench -->'];

/** What is made of docs/bench.json: texts by path. */
export function pages(): Map<string, string> {
  const results = JSON.parse(readFileSync(resultsFile, 'utf8')) as Results;
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
  const [start, end] = [readme.indexOf(START), readme.indexOf(END)];
  if (start === -1 || end < start) throw new Error(`README.md has no ${START} … ${END}`);
  const before = readme.slice(0, start + START.length);
  return new Map([
    ['docs/bench.md', pageOf(results)],
    ['docs/bench.svg', chartOf(results)],
    ['README.md', `${before}\n\n${readmeBlock(results)}\n\n${readme.slice(end)}`],
  ]);
}

/** @param results undefined: those that are there */
export function writePages(results?: Results): void {
  if (results !== undefined) writeFileSync(resultsFile, `${JSON.stringify(results, rounded, 2)}\n`);
  for (const [path, text] of pages()) writeFileSync(join(packageRoot, path), text);
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value;
}
