import { random } from '../../clock/random.ts';

/** Returns a generator of request ids: 6 random characters per process, then a counter; short enough to read out. */
export function createRequestIds(): () => string {
  const prefix = random.bytes(3).toString('hex');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
