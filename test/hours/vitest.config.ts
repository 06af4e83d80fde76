import { defineConfig } from 'vitest/config';

/** `npm run test:hours`: nine simulated hours. `npm test` has three. */
export default defineConfig({
  test: {
    include: ['test/hours/*.test.ts'],
    expect: { requireAssertions: true },
    // An hour takes one core.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
