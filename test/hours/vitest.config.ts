import { defineConfig } from 'vitest/config';

/** `npm run test:simulation`: nine simulated hours. `npm test` has three. */
export default defineConfig({
  test: {
    include: ['test/hours/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    expect: { requireAssertions: true },
    // A hour takes one core.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
