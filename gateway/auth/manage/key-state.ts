import type { KeyRecord } from '../stores/key-store.ts';
import { hasExpired, problemsIn } from './manage-keys.ts';

/** `invalid`: the record has problems, for which the key is rejected. `development`: valid, but not in production. */
export const keyStates = ['active', 'development', 'expired', 'invalid', 'revoked'] as const;

export type KeyState = (typeof keyStates)[number];

/** The state of a key now. Parses its permissions, which takes some microseconds. */
export function keyStateOf(record: KeyRecord): KeyState {
  if (record.revokedAt !== undefined) return 'revoked';
  if (hasExpired(record)) return 'expired';
  if (problemsIn(record).length > 0) return 'invalid';
  return record.development === true ? 'development' : 'active';
}
