import { beforeEach } from 'vitest';
import { scenarioPause } from './scenario-pause.ts';

const DAY_MS = 86_400_000;
/** Time longer than a test that counts what happened on one day. */
const TEST_MS = 25_000;

/* A setup file. A test does not begin at the end of a UTC day: its counts of one day would be those of two. */
beforeEach(async () => {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < TEST_MS) await scenarioPause(leftMs);
});
