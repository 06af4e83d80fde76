import { defineConfig } from 'vitest/config';
import { unitTests } from './unit-tests.ts';

/** `npm run test:unit`: the tests that start nothing. They need no build, and are part of `npm test` too. */
export default defineConfig({
  test: {
    include: unitTests(),
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    // Unit tests share no state, so that one module graph serves all of them: a third of the time.
    isolate: false,
    pool: 'threads',
  },
});
