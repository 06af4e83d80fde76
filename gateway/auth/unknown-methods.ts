import { suggest } from '../config/suggest.ts';
import { entriesOf, type PermissionTexts } from './permissions/permissions.ts';

/**
 * Warns of methods in permissions that the spec does not have: either misspelt, or defined in a network file. They are
 * not errors, because the methods of networks change with their files.
 * @param known names of the spec's methods
 */
export function unknownMethodWarnings(permissions: PermissionTexts, known: readonly string[]): string[] {
  const names = (field: string): string[] => (permissions[field] === undefined ? [] : entriesOf(permissions[field]));
  const named = [
    // A namespace, without `_` or `.`, may have only methods from network files.
    ...names('methods').filter((name) => /[_.]/.test(name)),
    ...names('methodRates').map((entry) => entry.split('=')[0] ?? ''),
  ];
  return [...new Set(named)]
    .filter((name) => !known.includes(name))
    .map(
      (name) => `${name} is not in the spec; it applies only to networks whose file lists it${suggest(name, known)}`,
    );
}
