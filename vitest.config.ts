import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { failedLast } from './test/support/failed-last.ts';
import { onPath } from './test/support/find-program.ts';
import { programs } from './test/support/programs.ts';
import { longTests, propertyTests, simulatedTests, unitTests } from './test/unit/unit-tests.ts';

const units = unitTests.filter((file) => !simulatedTests.includes(file));
/** Tests that share no worker with those of a gateway in its process. Two at a time hold beside 12 busy processes (2026-11-30). */
const separate = ['test/limits/lost-count.redis.test.ts', 'test/upstreams/health/provoked-failures.test.ts'];
/** What most of them test is the process: start, signals, workers, memory, installation. Two at a time, after all others. */
const last = ['test/**/*.process.test.ts', ...separate];
const globalSetup = ['test/support/global-setup.ts'];
const withChromium = [...globalSetup, 'test/pages/install-chromium.ts'];
const redisTests = 'test/**/*.redis{,.process}.test.ts';
/** What takes seconds, and seldom finds a defect that no other test finds. */
const longFiles = 'test/**/*.long{,.redis}{,.process}.test.ts';
const packages = '**/node_modules/**';
/** A worker imports the gateway once, for all its files. Fewer collections, in the thread of the tests: a ninth of the CPU. */
const gateway = {
  isolate: false,
  execArgv: ['--max-semi-space-size=32', '--single-threaded-gc'],
  globalSetup,
  setupFiles: ['test/support/elastic-time.ts', 'test/support/whole-day.ts', 'test/support/clean-up.ts'],
};
/** These tests mostly wait. No `requireAssertions`: with concurrent tests, Vitest counts the global `expect` for the wrong one. */
const clients = { globalSetup: withChromium, expect: { requireAssertions: false }, maxWorkers: 2, maxConcurrency: 4 };

/** The projects of `npm run test:all -- NAMES`: folders of test/ that `npm test` does not run, and what the programs take. */
const others: Record<string, NonNullable<TestProjectInlineConfiguration['test']>> = {
  // Measures latencies that other tests would change.
  abuse: { maxWorkers: 1, testTimeout: 120_000 },
  // Tests of tools that measure and check the gateway.
  bench: { ...gateway, include: ['test/bench/**/*.test.ts'] },
  clients,
  // Go builds helm and actionlint.
  helm: { maxWorkers: 1, testTimeout: 120_000, hookTimeout: 2_000_000 },
  // An hour takes one core.
  hours: { maxWorkers: 2 },
  // The first compilation of alloy.
  languages: { globalSetup, maxWorkers: 1, testTimeout: 600_000, hookTimeout: 3_600_000 },
  // Some install a clock of their own, whose time stays in the state of a process.
  long: { ...gateway, isolate: true, include: longTests, maxWorkers: 2 },
  // Go builds geth.
  nodes: { maxWorkers: 1, testTimeout: 300_000, hookTimeout: 1_000_000 },
  pages: { globalSetup: withChromium, isolate: false, maxWorkers: 3 },
  // One installs programs at a time.
  programs: { ...gateway, maxWorkers: 1, hookTimeout: 300_000 },
  properties: { ...gateway, include: propertyTests, maxWorkers: 2 },
  recipes: { maxWorkers: 1, testTimeout: 1_800_000, hookTimeout: 600_000 },
  redis: { ...gateway, include: [redisTests], exclude: [longFiles, packages], maxWorkers: 1 },
  // zksync-ethers does not catch the rejection of its own network detection.
  rejections: {
    ...clients,
    include: ['test/clients/rejections/*.test.ts'],
    onUnhandledError: ({ message }) => !/^(server response [45]|exceeded maximum retry limit)/.test(message),
  },
  walkthrough: { globalSetup, testTimeout: 300_000, hookTimeout: 300_000 },
};

const own = Object.keys(others).filter((name) => name !== 'redis' && name !== 'rejections');
const excluded = [...own.map((name) => `test/${name}/**`), longFiles, packages];
/** Set by `npm run test:all`. */
const named = process.env['TESTS'];
if (named === undefined && onPath(programs.redis.names) === undefined) {
  excluded.push(redisTests);
  // Vitest reads this file once for each project.
  if (process.env['NOT_RUN'] === undefined) {
    console.log(
      'NOT RUN: *.redis.test.ts and *.redis.process.test.ts, because PATH has no redis-server or valkey-server. Install one, then run again.',
    );
  }
  process.env['NOT_RUN'] = '*.redis.test.ts';
}
const projectsOfTest = [
  // They start nothing and share no state: one module graph in each worker serves all of them.
  { extends: true, test: { name: 'unit', include: units, isolate: false, pool: 'threads' } },
  { extends: true, test: { ...gateway, name: 'simulated', include: simulatedTests, exclude: excluded } },
  {
    extends: true,
    test: {
      ...gateway,
      name: 'gateway',
      include: ['test/**/*.test.ts'],
      exclude: [...units, ...simulatedTests, ...last, ...excluded],
    },
  },
  {
    extends: true,
    test: {
      ...gateway,
      ...{ name: 'process', include: last, exclude: excluded, maxWorkers: 2, sequence: { groupOrder: 1 } },
    },
  },
] satisfies TestProjectInlineConfiguration[];

export default defineConfig({
  test: {
    // A test without an assertion fails. No test is repeated (test/structure/tests.test.ts checks it).
    // `expect.poll` waits 1 s by default, which a loaded machine exceeds.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    reporters: ['default', failedLast],
    // Tests with a gateway wait for half of their time. Each further worker imports and compiles the gateway once more.
    maxWorkers: 5,
    // Projects share their compiled modules: an eighth of the CPU of a first run.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest' },
    // Ends tests that hang. Each test has its own limits; those that start processes take 20 s on a loaded machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects:
      named === undefined
        ? projectsOfTest
        : [{ extends: true, test: { name: named, include: [`test/${named}/*.test.ts`], ...others[named] } }],
  },
});
