import type { Diagnostic } from '../../network-files/diagnostics.ts';
import { InvalidPermissionsError, parsePermissions, type PermissionTexts } from './permissions.ts';

/** A value in a file or a claim, as the text of a key's record; undefined if it has another type. */
export function permissionText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? decimalText(value) : undefined;
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join(',') : undefined;
}

/** Decimal digits of a number, never `1e+21`, which no permission reads. */
function decimalText(value: number): string {
  return value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 6 });
}

/** @param path of the texts in a file */
export function problemsOf(path: readonly string[], texts: PermissionTexts): Diagnostic[] {
  try {
    parsePermissions(texts);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidPermissionsError)) throw error;
    return error.problems.map((problem) => {
      const [name = ''] = problem.split(':');
      return { path: [...path, name], message: [...path, problem].join('.') };
    });
  }
}
