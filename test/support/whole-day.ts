import { scenarioPause } from './scenario-pause.ts';

const DAY_MS = 86_400_000;
/** Longer than a test that counts what happened on one day. */
const TEST_MS = 25_000;

/** Waits for the next UTC day if this one ends soon: counts by day would be those of two days. */
export async function wholeDay(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < TEST_MS) await scenarioPause(leftMs);
}
