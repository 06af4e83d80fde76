import { defineConfig } from 'vitest/config';
import { unitTests } from './test/unit/unit-tests.ts';

const units = unitTests();

export default defineConfig({
  test: {
    // A test without an assertion fails. No test is repeated (test/structure/tests.test.ts checks it).
    // `expect.poll` waits 1 s by default, which a loaded machine exceeds.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    // Tests mostly wait for processes and time.
    maxWorkers: 3,
    // Ends tests that hang. Each test has its own limits; those that start processes take 20 s on a loaded machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      // They start nothing and share no state: one module graph in each worker serves all of them.
      { extends: true, test: { name: 'unit', include: units, isolate: false, pool: 'threads' } },
      {
        extends: true,
        test: {
          name: 'gateway',
          // A worker imports the gateway once, for all its files.
          isolate: false,
          include: ['test/**/*.test.ts'],
          // `npm run test:abuse`, `test:clients`, `test:helm`, `test:languages`, `test:nodes`, `test:pages`, `test:recipes` and
          // `test:walkthrough` run these: they need further packages, geth, Chromium, and minutes.
          exclude: [
            'test/{abuse,clients,helm,languages,nodes,pages,recipes,walkthrough}/**',
            '**/node_modules/**',
            ...units,
          ],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/whole-day.ts'],
        },
      },
    ],
  },
});
