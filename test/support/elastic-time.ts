import { vi } from 'vitest';
import { installElasticClock } from './elastic-clock.ts';

/** Real time limits only what hangs. */
const HANGS_MS = 300_000;

/* A setup file: the time of gateways in this process is elastic, and tests wait for as long as a busy machine needs. */
installElasticClock();
const limits = {
  testTimeout: HANGS_MS,
  hookTimeout: HANGS_MS,
  expect: { requireAssertions: true, poll: { timeout: 60_000 } },
};
vi.setConfig(limits);
