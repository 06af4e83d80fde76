import { defineConfig } from 'vitest/config';

/** `npm run test:nodes`. Not part of `npm test`: it needs a geth, which Go installs in two minutes. */
export default defineConfig({
  test: {
    include: ['test/nodes/*.test.ts'],
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 300_000,
    // The installation of geth.
    hookTimeout: 1_000_000,
  },
});
