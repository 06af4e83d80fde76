import { afterAll } from 'vitest';
import { endChildren } from './child-processes.ts';
import { cleanUp } from './cleanups.ts';

/* A setup file: it runs for each test file, and its hook after those of the file, also if `beforeAll` failed there. */
afterAll(async () => {
  await cleanUp().finally(endChildren);
});
