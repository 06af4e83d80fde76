import type { Command } from 'commander';
import { editableFields } from '../auth/permissions/permission-fields.ts';
import type { PermissionChange } from '../auth/stores/key-store.ts';

/** The editable fields; `option` is the property in which commander stores the value of the flag. */
const options = editableFields.map((field) => ({ ...field, option: optionOf(field.flag) }));

/** Adds a flag for each permission and limit. */
export function addPermissionOptions(command: Command): Command {
  for (const { flag, meaning } of options) command.option(flag, meaning.replaceAll('`', ''));
  return command;
}

/** Reads the flags as a change of permissions. An empty value removes a permission. */
export function permissionsFrom(given: Readonly<Record<string, unknown>>): PermissionChange {
  const change: Record<string, string | undefined> = {};
  for (const { name, option, fromFlag } of options) {
    const value = given[option];
    if (typeof value !== 'string') continue;
    const text = value.trim();
    change[name] = text === '' ? undefined : (fromFlag?.(text) ?? text);
  }
  return change;
}

/** `--user-agents <texts>` becomes userAgents. */
function optionOf(flag: string): string {
  return flag.slice(2, flag.indexOf(' ')).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
