import { afterAll } from 'vitest';
import { cleanUp } from './cleanups.ts';

/* A setup file: it runs for each test file. A module that test files share would run `afterAll` for the first of them only. */
afterAll(cleanUp);
