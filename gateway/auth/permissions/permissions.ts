import { suggest } from '../../config/suggest.ts';
import type { Diagnostic } from '../../network-files/diagnostics.ts';
import { invalidEntry } from './field-formats.ts';
import type { PermissionRow } from './field-kinds.ts';
import { permissionFields, permissionNames, type KeyPermissions, type PermissionField } from './permission-fields.ts';

/** Permissions as stored: text by field. */
export type PermissionTexts = Readonly<Record<string, string>>;

/** A record has an invalid permission, so its key must be rejected. The messages quote short numbers only. */
export class InvalidPermissionsError extends Error {
  override readonly name = 'InvalidPermissionsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** @throws InvalidPermissionsError with every problem. An unknown field is one: it may be a misspelt restriction. */
export function parsePermissions(texts: PermissionTexts): KeyPermissions {
  const problems: string[] = [];
  const permissions: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(texts)) {
    if (!isPermissionField(name)) {
      problems.push(`${printable(name)} is not known${suggest(name, permissionNames)}`);
      continue;
    }
    const row = permissionFields[name];
    const value = row.read(text);
    if (value === undefined) problems.push(`${name}: expected ${expectationOf(row, text)}`);
    else permissions[name] = value;
    const required = 'requires' in row ? row.requires : undefined;
    if (required !== undefined && texts[required] === undefined) problems.push(`${name}: requires ${required}`);
  }
  if (problems.length > 0) throw new InvalidPermissionsError(problems);
  return permissions;
}

export function isPermissionField(name: string): name is PermissionField {
  return Object.hasOwn(permissionFields, name);
}

/** Numbers and short words. Other texts are not quoted: they may be keys or secrets in the wrong place. */
const quotable = /^(?:[-+.,\de]{1,15}|[a-z]{1,10})$/i;

/** Numbers have bounds that the meaning does not say. */
function expectationOf({ read, meaning, noun }: PermissionRow, text: string): string {
  const entry = noun === undefined ? undefined : invalidEntry(read, text);
  if (entry !== undefined) return `${meaning}; entry ${entry} is no ${noun ?? ''}`;
  if (read.numbers === undefined) return meaning;
  return `${read.numbers} (${meaning}), got ${quotable.test(text) ? text : 'a text that is no number'}`;
}

function printable(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}

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
