import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:abuse`, `test:clients`, `test:languages`, `test:nodes`, `test:recipes` and `test:walkthrough` run these:
    // they need further packages, geth, and minutes.
    exclude: ['test/{abuse,clients,languages,nodes,recipes,walkthrough}/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // A test without an assertion fails. No test is repeated (test/structure/tests.test.ts checks it).
    // `expect.poll` waits 1 s by default, which a loaded machine exceeds.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    // Tests mostly wait for processes and time. On 2 cores, two workers take 360 s, three 280 s.
    maxWorkers: 3,
    // Ends tests that hang. Each test has its own limits; those that start processes take 20 s on a loaded machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
