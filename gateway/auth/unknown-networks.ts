import { suggest } from '../config/suggest.ts';
import type { PermissionChange } from './stores/key-store.ts';
import { entriesOf } from './permissions/field-formats.ts';

/**
 * Names the networks in a change of permissions that do not exist: `there is no network locl; did you mean local?`
 * @param known slugs of all networks; none: they are not known here, so every name passes
 */
export function unknownNetworks({ networks = '' }: PermissionChange, known: readonly string[]): string[] {
  if (known.length === 0) return [];
  return entriesOf(networks)
    .filter((slug) => slug !== '' && !known.includes(slug))
    .map((slug) => `there is no network ${slug}${suggest(slug, known)}`);
}
