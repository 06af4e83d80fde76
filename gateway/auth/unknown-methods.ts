import { suggest } from '../config/suggest.ts';
import { entriesOf, type PermissionTexts } from './permissions/permissions.ts';

/**
 * Sentences about methods that rules name and the spec does not: misspelt, or of a network's file. No mistakes, since
 * what networks serve changes with their files.
 * @param known names of the spec's methods
 */
export function unknownMethodWarnings(permissions: PermissionTexts, known: readonly string[]): string[] {
  const names = (field: string): string[] => (permissions[field] === undefined ? [] : entriesOf(permissions[field]));
  const named = [
    // A namespace by itself, without `_` or `.`, may hold methods of networks' files only.
    ...names('methods').filter((name) => /[_.]/.test(name)),
    ...names('methodRates').map((entry) => entry.split('=')[0] ?? ''),
  ];
  return [...new Set(named)]
    .filter((name) => !known.includes(name))
    .map((name) => `${name} counts on networks whose file names it only, the spec has none${suggest(name, known)}`);
}
