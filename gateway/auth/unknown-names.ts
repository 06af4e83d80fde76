import { suggest } from '../config/suggest.ts';
import { entriesOf } from './permissions/field-formats.ts';
import { permissionFields, permissionNames } from './permissions/permission-fields.ts';
import type { PermissionTexts } from './permissions/permissions.ts';
import type { PermissionChange } from './stores/key-store.ts';

/**
 * Warns of methods in permissions that the spec does not have: either misspelt, or defined in a network file. They are
 * not errors, because the methods of networks change with their files.
 * @param known names of the spec's methods
 */
export function unknownMethodWarnings(permissions: PermissionTexts, known: readonly string[]): string[] {
  const named = permissionNames.flatMap((field) => {
    const text = permissions[field];
    return text === undefined ? [] : (permissionFields[field].methodsIn?.(text) ?? []);
  });
  return [...new Set(named)]
    .filter((name) => !known.includes(name))
    .map(
      (name) => `${name} is not in the spec; it applies only to networks whose file lists it${suggest(name, known)}`,
    );
}

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
