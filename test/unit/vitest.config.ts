import { defineConfig } from 'vitest/config';
import { simulatedTests, unitTests } from './unit-tests.ts';

const isSimulated = (file: string): boolean => simulatedTests.includes(file);

/** `npm run test:unit`: the tests that start nothing. They need no build, and are part of `npm test` too. */
export default defineConfig({
  test: {
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    maxWorkers: 2,
    pool: 'threads',
    projects: [
      // They share no state, so that one module graph serves all of them: a third of the time.
      {
        extends: true,
        test: { name: 'unit', include: unitTests.filter((file) => !isSimulated(file)), isolate: false },
      },
      { extends: true, test: { name: 'simulated', include: unitTests.filter(isSimulated) } },
    ],
  },
});
