import { keyIdOf } from '../formats/key.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import { problemsIn } from './manage-keys.ts';

/** A key record as JSON output has it. Digests of secrets are shortened to 12 digits, like key ids. */
export function displayedRecord(record: KeyRecord): object {
  const problems = problemsIn(record);
  const { permissions, ...own } = record;
  return {
    ...own,
    ...(permissions !== undefined && { rules: displayedPermissions(record) }),
    ...(problems.length > 0 && { mistakes: problems }),
  };
}

/** Permissions as text, without the full digests of secrets. */
export function displayedPermissions({ permissions = {} }: KeyRecord): Record<string, string> {
  const { secrets, ...others } = permissions;
  if (secrets === undefined) return others;
  // An operator may have written the secret itself instead of its digest: only digests are shown.
  const shown = secrets.replace(/[^,@]*(@[^,]*)?/g, (entry) => {
    const [digest = '', expiresAt] = entry.split(/@(.*)/s);
    const id = /^\s*[0-9a-f]{64}\s*$/.test(digest) ? keyIdOf(digest.trim()) : digest === '' ? '' : '?';
    return expiresAt === undefined ? id : `${id}@${expiresAt}`;
  });
  return { ...others, secrets: shown };
}
