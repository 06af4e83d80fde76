import { defineConfig } from 'vitest/config';

/** `npm run test:walkthrough`. Not part of `npm test`: it installs the package and waits for an alert of Prometheus. */
export default defineConfig({
  test: {
    include: ['test/walkthrough/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    expect: { requireAssertions: true },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
