import type { Command } from 'commander';
import { durationOf } from '../auth/formats/duration.ts';
import { permissionFields } from '../auth/permissions/permissions.ts';
import type { PermissionChange } from '../auth/stores/key-store.ts';

/** Flags with a value, by the name under which commander keeps it. */
const flags = permissionFields
  .filter(({ flag }) => flag.includes(' '))
  .map(({ name, flag, meaning }) => ({
    field: name,
    flag,
    meaning: meaning.replaceAll('`', ''),
    option: optionOf(flag),
  }));

/** A flag for each rule of a key. */
export function addPermissionOptions(command: Command): Command {
  for (const { flag, meaning } of flags) command.option(flag, meaning);
  return command;
}

/** What the flags say; an empty value takes a rule away. */
export function permissionsFrom(options: Readonly<Record<string, unknown>>): PermissionChange {
  const change: Record<string, string | undefined> = {};
  for (const { field, option } of flags) {
    const given = options[option];
    if (typeof given !== 'string') continue;
    const text = given.trim();
    change[field] = text === '' ? undefined : field === 'expiresAt' ? endOf(text) : text;
  }
  return change;
}

function endOf(text: string): string {
  const fromNow = durationOf(text);
  return fromNow === undefined ? text : new Date(Date.now() + fromNow).toISOString();
}

/** `--user-agents <texts>` is kept as userAgents. */
function optionOf(flag: string): string {
  return flag.slice(2, flag.indexOf(' ')).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
