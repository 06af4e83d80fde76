import { defineConfig } from 'vitest/config';

/** `npm run test:abuse`. Not part of `npm test`: it takes twelve minutes, and measures latencies that other tests would change. */
export default defineConfig({
  test: {
    include: ['test/abuse/*.test.ts'],
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
