import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { errorCode } from '../config/log.ts';
import { isWellFormedKey } from '../auth/formats/key.ts';
import { readName } from '../auth/manage/manage-keys.ts';
import { editableFields } from '../auth/permissions/permission-fields.ts';
import type { PermissionChange } from '../auth/stores/key-store.ts';
import { unknownNetworks } from '../auth/unknown-names.ts';
import { slugsIn } from '../network-files/load-networks.ts';
import { CommandError } from './exit-codes.ts';
import { lastDays, USAGE_RETENTION_DAYS } from '../usage/usage-store.ts';

/** The editable fields; `option` is the property in which commander stores the value of the flag. */
const options = editableFields.map((field) => ({ ...field, option: optionOf(field.flag) }));

/** Adds a flag for each permission and limit. */
export function addPermissionOptions(command: Command): Command {
  for (const { flag, meaning } of options) {
    command.option(flag, meaning.replaceAll('`', ''));
    if (!flag.includes(' ')) command.option(flag.replace('--', '--no-'), `remove ${flag}`);
  }
  return command.option('--force', 'accept networks that have no file in NETWORKS_DIR');
}

/** Reads the flags as a change of permissions. An empty value removes a permission. */
export function permissionsFrom(given: Readonly<Record<string, string | boolean | undefined>>): PermissionChange {
  const change: Record<string, string | undefined> = {};
  for (const { name, option, fromFlag } of options) {
    const value = given[option];
    if (value === undefined) continue;
    const text = value === true ? 'on' : value === false ? '' : value.trim();
    change[name] = text === '' ? undefined : (fromFlag?.(text) ?? text);
  }
  return change;
}

/**
 * A shell that shares only Redis with the gateways may have other network files, so `--force` accepts any slug.
 * @throws CommandError for networks without a file in the folder; a folder without network files permits all
 */
export function checkNetworks(change: PermissionChange, folder: string, isForced: boolean): void {
  const [unknown] = isForced ? [] : unknownNetworks(change, slugsIn(folder));
  if (unknown !== undefined) throw new CommandError(`--networks: ${unknown} (--force accepts it)`);
}

export function checkedName(name: string): string {
  const trimmed = readName(name);
  if (trimmed === undefined) throw new CommandError('--name: expected 1 to 64 printable characters');
  return trimmed;
}

/** Shortest secret, as of admin tokens: wrong secrets of a known key are not counted. */
const MIN_SECRET_CHARS = 16;

/** Reads a key of another service, and its secret if there is one. @throws CommandError, which does not quote the input */
export async function readKey(
  input: AsyncIterable<Uint8Array | string>,
): Promise<{ key: string; secret: string | undefined }> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  const [key = '', secret, ...more] = Buffer.concat(chunks).toString().trim().split(/\s+/);
  if (!isWellFormedKey(key) || more.length > 0)
    throw new CommandError('--key-stdin: expected a key of 32 hexadecimal digits on standard input');
  if (secret !== undefined && secret.length < MIN_SECRET_CHARS)
    throw new CommandError(`--key-stdin: expected a secret of at least ${MIN_SECRET_CHARS} characters`);
  return { key, secret };
}

/** @throws CommandError */
export function readPemFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file}: the file cannot be read (${errorCode(error)})`);
  }
}

/** Reads `--days`: the last days, today included. @throws CommandError */
export function readDays(text: string): string[] {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= USAGE_RETENTION_DAYS) return lastDays(days);
  throw new CommandError(`--days: expected a whole number from 1 to ${USAGE_RETENTION_DAYS}`);
}

/** `--user-agents <texts>` becomes userAgents. */
function optionOf(flag: string): string {
  return flag.replace(/^--| .*$/g, '').replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
