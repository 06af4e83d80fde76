import { keyIdOf } from '../formats/key.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import { problemsIn } from './manage-keys.ts';

/** A record for programs. Of a secret's digest only the start is shown, as of a key's. */
export function displayedRecord(record: KeyRecord): object {
  const problems = problemsIn(record);
  const { permissions, ...own } = record;
  return {
    ...own,
    ...(permissions !== undefined && { rules: displayedPermissions(record) }),
    ...(problems.length > 0 && { mistakes: problems }),
  };
}

/** Rules as text, without digests of secrets. */
export function displayedPermissions({ permissions = {} }: KeyRecord): Record<string, string> {
  const { secrets, ...others } = permissions;
  if (secrets === undefined) return others;
  // Whatever stands there: by hand somebody may have written the secret itself.
  const shown = secrets.replace(/[^,@]*(@[^,]*)?/g, (entry) => {
    const [digest = '', until] = entry.split(/@(.*)/s);
    const id = /^\s*[0-9a-f]{64}\s*$/.test(digest) ? keyIdOf(digest.trim()) : digest === '' ? '' : '?';
    return until === undefined ? id : `${id}@${until}`;
  });
  return { ...others, secrets: shown };
}
