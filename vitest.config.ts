import { defineConfig } from 'vitest/config';
import { failedLast } from './test/support/failed-last.ts';
import { simulatedTests, unitTests } from './test/unit/unit-tests.ts';

const units = unitTests.filter((file) => !simulatedTests.includes(file));
/** What they expect of memory or time does not hold beside other tests on a slow machine. They run after all others, one by one. */
const alone = ['test/limits/lost-count.test.ts', 'test/upstreams/health/provoked-failures.test.ts'];
/** What they test is the process: start, signals, workers, memory, installation. One at a time, after all others. */
const processes = ['test/**/*.process.test.ts'];
/** Tests with a command of their own, such as `npm run test:abuse`: they need further packages, geth, Chromium, or minutes. */
const ownCommands = ['test/{abuse,clients,helm,hours,languages,nodes,pages,recipes,walkthrough}/**'];
/** A worker imports the gateway once, for all its files. */
const gateway = {
  isolate: false,
  globalSetup: ['test/support/global-setup.ts'],
  setupFiles: ['test/support/whole-day.ts', 'test/support/clean-up.ts'],
};

export default defineConfig({
  test: {
    // A test without an assertion fails. No test is repeated (test/structure/tests.test.ts checks it).
    // `expect.poll` waits 1 s by default, which a loaded machine exceeds.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    reporters: ['default', failedLast],
    // Tests mostly wait for processes and time.
    maxWorkers: 4,
    // Ends tests that hang. Each test has its own limits; those that start processes take 20 s on a loaded machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      // They start nothing and share no state: one module graph in each worker serves all of them.
      { extends: true, test: { name: 'unit', include: units, isolate: false, pool: 'threads' } },
      { extends: true, test: { ...gateway, name: 'simulated', include: simulatedTests, isolate: true } },
      {
        extends: true,
        test: {
          ...gateway,
          name: 'gateway',
          include: ['test/**/*.test.ts'],
          exclude: [...units, ...simulatedTests, ...alone, ...processes, ...ownCommands, '**/node_modules/**'],
        },
      },
      {
        extends: true,
        test: { ...gateway, name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          ...gateway,
          ...{ name: 'process', include: processes, exclude: [...ownCommands, '**/node_modules/**'] },
          ...{ maxWorkers: 1, sequence: { groupOrder: 2 } },
        },
      },
    ],
  },
});
