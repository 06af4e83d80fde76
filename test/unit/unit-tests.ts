import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from '../structure/imports.ts';

/** What starts a process, opens a port or waits for time. A test that has it, itself or through test/ or bench/, is no unit test. */
const starts =
  /'node:(child_process|http|https|net|tls|cluster|worker_threads)'|'ws'|'ioredis'|inject\('redisServer'\)|support\/eventually|support\/block-event-loop/;
/** A test that installs a clock of its own. */
const simulates = /from '[^']*\/(simulate-time|simulated-(network|nodes|clock))\.ts'/;
const excluded =
  /^test\/(abuse|bench|clients|e2e|helm|hours|languages|nodes|pages|programs|recipes|walkthrough|runtimes)\//;

const textOf = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');
const verdicts = new Map<string, boolean>();

/** Whether a file of test/ or bench/ starts nothing, nor do those that it imports. */
function startsNothing(file: string): boolean {
  const known = verdicts.get(file);
  if (known !== undefined) return known;
  verdicts.set(file, true); // Ends cycles.
  const text = textOf(file);
  const imported = [...text.matchAll(/^(?:import|export) .*?from '(\.[^']+)';|^\} from '(\.[^']+)';/gm)]
    .filter(([line]) => !line.startsWith('import type'))
    .map((match) => resolve('/', file, '..', match[1] ?? match[2] ?? '').slice(1))
    .filter((name) => /^(test|bench)\//.test(name));
  const verdict = file !== 'test/support/gateway.ts' && !starts.test(text) && imported.every(startsNothing);
  verdicts.set(file, verdict);
  return verdict;
}

const tests = sourcesIn('test').filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'));

const isLong = (file: string): boolean => file.includes('.long.');
/** The tests of `npm test`. */
const short = tests.filter((file) => !isLong(file));

/** The tests that install a clock of their own. Those times, far in the future of the system's, stay in the state of a process. */
export const simulatedTests = short.filter((file) => simulates.test(textOf(file)));

/** The tests that start nothing. */
export const unitTests = short.filter((file) => !excluded.test(file) && startsNothing(file));

/** The tests that take ten times as many inputs in `npm run test:all -- properties`. */
export const propertyTests = tests.filter((file) => textOf(file).includes('/property-runs'));

/** The tests of `npm run test:all -- long`: `*.long.test.ts`, and those that take more rows or rounds there. */
export const longTests = tests.filter((file) => isLong(file) || textOf(file).includes('/long-run'));
