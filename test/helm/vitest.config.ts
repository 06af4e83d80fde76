import { defineConfig } from 'vitest/config';

/** `npm run test:helm`. Not part of `npm test`: Go builds helm and actionlint in some minutes. */
export default defineConfig({
  test: {
    include: ['test/helm/*.test.ts'],
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 120_000,
    // The installation of the programs.
    hookTimeout: 2_000_000,
  },
});
