import { permissionFields } from '../permissions/permission-fields.ts';
import { isPermissionField } from '../permissions/permissions.ts';
import { readTokenKeys } from '../permissions/token-keys.ts';
import type { PlanSource } from '../permissions/plans.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import { problemsIn } from './key-state.ts';

/**
 * A key record as JSON output has it. Digests of secrets are shortened to 12 digits, like key ids.
 * @param problems in the record; finding them parses its permissions
 */
export function displayedRecord(record: KeyRecord, plans: PlanSource, problems = problemsIn(record, plans)): object {
  const { permissions, ...own } = record;
  return {
    ...own,
    ...(permissions !== undefined && { permissions: displayedPermissions(record) }),
    ...(problems.length > 0 && { mistakes: problems }),
  };
}

/** Permissions as text, without the full digests of secrets. */
export function displayedPermissions({ permissions = {} }: KeyRecord): Record<string, string> {
  const texts = Object.entries(permissions).map(([name, text]) => {
    const display = isPermissionField(name) ? permissionFields[name].display : undefined;
    return [name, display === undefined ? text : display(text)];
  });
  return Object.fromEntries(texts) as Record<string, string>;
}

/** The registered public keys, without the keys themselves. */
export function shownTokenKeys({ permissions = {} }: KeyRecord): { kid: string; name: string; algorithm: string }[] {
  const keys = readTokenKeys(permissions['tokenKeys'] ?? '') ?? [];
  return keys.map(({ kid, name, algorithm }) => ({ kid, name, algorithm }));
}
