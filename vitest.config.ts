import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:clients` and `test:nodes`: they need packages of their own, and a geth.
    exclude: ['test/clients/**', 'test/nodes/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Real processes on shared machines: a pause at the wrong moment may fail a test about seconds. What passes at the
    // second try only is printed as such.
    retry: 1,
    // They mostly wait: for processes to start, for a second to pass. On 2 cores two at a time take 360 s, three 280.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
