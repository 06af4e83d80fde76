import { clock } from '../../clock/clock.ts';
import { NetworkFilesError } from '../../network-files/load-networks.ts';
import { compileAccess } from '../key-access.ts';
import { InvalidPermissionsError } from '../permissions/permissions.ts';
import { recordWithPlan, type PlanSource } from '../permissions/plans.ts';
import type { KeyRecord } from '../stores/key-store.ts';

/** `invalid`: the record has problems, for which the key is rejected. `development`: valid, but not in production. */
export const keyStates = ['active', 'development', 'expired', 'invalid', 'revoked'] as const;

export type KeyState = (typeof keyStates)[number];

/** The state of a key now. Parses its permissions, which takes some microseconds. */
export function keyStateOf(record: KeyRecord, plans: PlanSource): KeyState {
  if (record.revokedAt !== undefined) return 'revoked';
  if (hasExpired(record)) return 'expired';
  if (problemsIn(record, plans).length > 0) return 'invalid';
  return record.development === true ? 'development' : 'active';
}

export function hasExpired({ permissions }: KeyRecord): boolean {
  return Date.parse(permissions?.['expiresAt'] ?? '') <= clock.unixMs();
}

/** Problems in the record for which the key is rejected. An auth.yaml that cannot be read is one of keys with a plan. */
export function problemsIn(record: KeyRecord, plans: PlanSource): readonly string[] {
  try {
    compileAccess(recordWithPlan(record, plans));
    return [];
  } catch (error) {
    if (error instanceof InvalidPermissionsError) return error.problems;
    if (error instanceof NetworkFilesError) return [`plan: cannot be read: ${error.message.replace(/\n[^]*/, '')}`];
    throw error;
  }
}
