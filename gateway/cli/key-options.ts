import type { Command } from 'commander';
import { durationOf } from '../auth/formats/duration.ts';
import { permissionFields } from '../auth/permissions/permissions.ts';
import type { PermissionChange } from '../auth/stores/key-store.ts';

/** Flags with a value; `option` is the property in which commander stores it. */
const flags = permissionFields
  .filter(({ flag }) => flag.includes(' '))
  .map(({ name, flag, meaning }) => ({
    field: name,
    flag,
    meaning: meaning.replaceAll('`', ''),
    option: optionOf(flag),
  }));

/** Adds a flag for each permission and limit. */
export function addPermissionOptions(command: Command): Command {
  for (const { flag, meaning } of flags) command.option(flag, meaning);
  return command;
}

/** Reads the flags as a change of permissions. An empty value removes a permission. */
export function permissionsFrom(options: Readonly<Record<string, unknown>>): PermissionChange {
  const change: Record<string, string | undefined> = {};
  for (const { field, option } of flags) {
    const value = options[option];
    if (typeof value !== 'string') continue;
    const text = value.trim();
    change[field] = text === '' ? undefined : field === 'expiresAt' ? expiryOf(text) : text;
  }
  return change;
}

function expiryOf(text: string): string {
  const durationMs = durationOf(text);
  return durationMs === undefined ? text : new Date(Date.now() + durationMs).toISOString();
}

/** `--user-agents <texts>` becomes userAgents. */
function optionOf(flag: string): string {
  return flag.slice(2, flag.indexOf(' ')).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
