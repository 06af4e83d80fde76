import { keyIdOf } from './key.ts';
import type { KeyRecord } from './key-store.ts';
import { mistakesIn } from './manage-keys.ts';

/** A record for programs. Of a secret's digest only the start is shown, as of a key's. */
export function shownRecord(record: KeyRecord): object {
  const mistakes = mistakesIn(record);
  return {
    ...record,
    ...(record.rules !== undefined && { rules: shownRules(record) }),
    ...(mistakes.length > 0 && { mistakes }),
  };
}

/** Rules as text, without digests of secrets. */
export function shownRules({ rules = {} }: KeyRecord): Record<string, string> {
  const { secrets, ...others } = rules;
  if (secrets === undefined) return others;
  // Whatever stands there: by hand somebody may have written the secret itself.
  const shown = secrets.replace(/[^,@]*(@[^,]*)?/g, (entry) => {
    const [digest = '', until] = entry.split(/@(.*)/s);
    const id = /^\s*[0-9a-f]{64}\s*$/.test(digest) ? keyIdOf(digest.trim()) : digest === '' ? '' : '?';
    return until === undefined ? id : `${id}@${until}`;
  });
  return { ...others, secrets: shown };
}
