import { defineConfig } from 'vitest/config';

/** `npm run test:recipes`. Not part of `npm test`: it compiles and tests about 50 copies of the repository, which takes minutes. */
export default defineConfig({
  test: {
    include: ['test/recipes/*.test.ts'],
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
  },
});
