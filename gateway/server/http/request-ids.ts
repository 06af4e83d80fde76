import { randomBytes } from 'node:crypto';

/** Request ids: 6 random characters of this process, then a count. Short enough to be read out over the phone. */
export function requestIds(): () => string {
  const prefix = randomBytes(3).toString('hex');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
