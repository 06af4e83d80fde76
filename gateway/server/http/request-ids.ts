import { randomBytes } from 'node:crypto';

/** Returns a generator of request ids: 6 random characters per process, then a counter; short enough to read out. */
export function createRequestIds(): () => string {
  const prefix = randomBytes(3).toString('hex');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
