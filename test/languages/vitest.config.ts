import { defineConfig } from 'vitest/config';

/** `npm run test:languages`. Not part of `npm test`: it needs geth, Python, Go, Rust and Maven, and compiles for minutes. */
export default defineConfig({
  test: {
    include: ['test/languages/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 600_000,
    // The first compilation of alloy.
    hookTimeout: 3_600_000,
  },
});
