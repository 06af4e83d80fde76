import { suggest } from '../../config/suggest.ts';
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
