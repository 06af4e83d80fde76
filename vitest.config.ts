import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:abuse`, `test:clients`, `test:nodes`, `test:recipes` and `test:walkthrough` run these: they need further
    // packages, geth, and minutes.
    exclude: ['test/{abuse,clients,nodes,recipes,walkthrough}/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // A test without an assertion fails. No test is repeated (test/structure/tests.test.ts checks it).
    expect: { requireAssertions: true },
    // Tests mostly wait for processes and time. On 2 cores, two workers take 360 s, three 280 s.
    maxWorkers: 3,
    // Ends tests that hang. Each test has its own limits; those that start processes take 20 s on a loaded machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
