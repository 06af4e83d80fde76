import { defineConfig } from 'vitest/config';
import { failedLast } from '../support/failed-last.ts';

/** `npm run test:clients`. Not part of `npm test`: its packages are installed separately, into this folder. */
export default defineConfig({
  test: {
    include: ['test/clients/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/pages/install-chromium.ts'],
    reporters: ['default', failedLast],
    // No `requireAssertions`: with concurrent tests, Vitest counts the global `expect` for the wrong one.
    // These tests mostly wait.
    maxWorkers: 2,
    maxConcurrency: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
