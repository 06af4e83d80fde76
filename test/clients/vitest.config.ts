import { defineConfig } from 'vitest/config';

/** `npm run test:clients`. Not part of `npm test`: its packages are installed by themselves, into this folder. */
export default defineConfig({
  test: {
    include: ['test/clients/*.test.ts'],
    retry: 1,
    // Some clients go on to poll by themselves when their upstream is away, and catch nothing of it.
    onUnhandledError: (error) => (error as { code?: unknown }).code !== 'ECONNREFUSED',
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
