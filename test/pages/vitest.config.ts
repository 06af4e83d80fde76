import { defineConfig } from 'vitest/config';

/** `npm run test:pages`: all pages in Chromium. Not part of `npm test`: it is installed, and works, for minutes. */
export default defineConfig({
  test: {
    include: ['test/pages/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/pages/install-chromium.ts'],
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    isolate: false,
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
