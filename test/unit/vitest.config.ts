import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from '../structure/imports.ts';

/** What starts a process, opens a port or waits for time. A test that has it, itself or through test/ or bench/, is no unit test. */
const starts =
  /'node:(child_process|http|https|net|tls|cluster|worker_threads)'|'ws'|'ioredis'|inject\('redisServer'\)|support\/eventually/;
const excluded = /^test\/(abuse|clients|e2e|languages|nodes|recipes|walkthrough|runtimes)\//;

const verdicts = new Map<string, boolean>();

/** Whether a file of test/ or bench/ starts nothing, nor do those that it imports. */
function startsNothing(file: string): boolean {
  const known = verdicts.get(file);
  if (known !== undefined) return known;
  verdicts.set(file, true); // Ends cycles.
  const text = readFileSync(join(packageRoot, file), 'utf8');
  const imported = [...text.matchAll(/^(?:import|export) .*?from '(\.[^']+)';|^\} from '(\.[^']+)';/gm)]
    .filter(([line]) => !line.startsWith('import type'))
    .map((match) => resolve('/', file, '..', match[1] ?? match[2] ?? '').slice(1))
    .filter((name) => /^(test|bench)\//.test(name));
  const verdict = !starts.test(text) && imported.every(startsNothing);
  verdicts.set(file, verdict);
  return verdict;
}

/** `npm run test:unit`: the tests that start nothing. They need no build, and are part of `npm test` too. */
export default defineConfig({
  test: {
    include: sourcesIn('test').filter(
      (file) =>
        file.endsWith('.test.ts') && !file.includes('node_modules') && !excluded.test(file) && startsNothing(file),
    ),
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    // Unit tests share no state, so that one module graph serves all of them: a third of the time.
    isolate: false,
    pool: 'threads',
  },
});
