import { isObject } from '../../collections/is-object.ts';
import { closeSync, fstatSync, openSync, readFileSync, statSync, type BigIntStats } from 'node:fs';
import { errorCode } from '../../config/log.ts';
import { isDigest } from '../formats/key.ts';
import { fieldsOfKey, keyFromFields, type StoredKey } from './key-store.ts';
import { StoreError } from '../../store/store-error.ts';
import { writePrivateFile } from '../../store/private-file.ts';

/** `{"keys": {"<sha256>": {"name", "createdAt", "revokedAt"?, "development"?, permissions as in Redis}}}` */
export interface KeyFile {
  readonly keys: ReadonlyMap<string, StoredKey>;
  /** Differs after each change of the file or its mode; see `keyFileVersion`. */
  readonly version: string;
  /** Whether other accounts of the machine may read the digests, names and permissions. */
  readonly isReadableByOthers: boolean;
}

const GROUP_OR_OTHERS_WRITE = 0o022;
const GROUP_OR_OTHERS_READ = 0o044;

/** The key file cannot be read or is invalid. The message has its path. */
export class KeyFileError extends StoreError {
  override readonly name: string = 'KeyFileError';
}

/** The key file cannot be read now, for example because the process has no free file descriptor. It may be valid. */
export class KeyFileUnreadable extends KeyFileError {
  override readonly name = 'KeyFileUnreadable';
}

/**
 * Reads the key file. A missing file has no keys. A file that other accounts may write is rejected: they could add keys.
 * @throws KeyFileError, KeyFileUnreadable
 */
export function readKeyFile(path: string): KeyFile {
  let content: ReturnType<typeof readWithStat>;
  try {
    content = readWithStat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { keys: new Map(), version: 'none', isReadableByOthers: false };
    throw new KeyFileUnreadable(`${path} cannot be read (${errorCode(error)})`, { cause: error });
  }
  const { stat, text } = content;
  const mode = modeOf(stat);
  if ((mode & GROUP_OR_OTHERS_WRITE) !== 0)
    throw new KeyFileError(`${path} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`);
  return {
    keys: parse(path, text),
    version: versionOf(stat),
    isReadableByOthers: (mode & GROUP_OR_OTHERS_READ) !== 0,
  };
}

/** Both are of the same file, which may be replaced meanwhile. */
function readWithStat(path: string): { readonly stat: BigIntStats; readonly text: string } {
  const file = openSync(path, 'r');
  try {
    return { stat: fstatSync(file, { bigint: true }), text: readFileSync(file, 'utf8') };
  } finally {
    closeSync(file);
  }
}

export function writeKeyFile(path: string, keys: ReadonlyMap<string, StoredKey>): void {
  writePrivateFile(path, keyFileText(keys));
}

export function keyFileText(keys: ReadonlyMap<string, StoredKey>): string {
  const flat = [...keys].map(([digest, key]) => [digest, fieldsOfKey(key)] as const);
  return `${JSON.stringify({ keys: Object.fromEntries(flat) }, undefined, 2)}\n`;
}

/** Identifies the file's content without reading it: Gatehouse replaces the file and never writes into it. */
export function keyFileVersion(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? 'none' : versionOf(stat);
  } catch (error) {
    return errorCode(error);
  }
}

/** Windows has access lists instead of modes. */
function modeOf({ mode }: { mode: bigint }): number {
  return process.platform === 'win32' ? 0 : Number(mode) & 0o777;
}

function versionOf(stat: { ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint }): string {
  return [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join('-');
}

function parse(path: string, text: string): Map<string, StoredKey> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new KeyFileError(`${path} is not valid JSON: restore it from a backup, or remove it to start without keys`);
  }
  const keys = isObject(content) ? content['keys'] : undefined;
  if (!isObject(keys)) throw new KeyFileError(`${path} is not a key file: expected {"keys": {…}}`);
  return new Map(
    Object.entries(keys).map(([digest, key]) => {
      if (!isDigest(digest) || !isKeyEntry(key)) {
        throw new KeyFileError(
          `${path}: the entry ${digest.slice(0, 12)}… is not a key: expected a SHA-256 and a record`,
        );
      }
      return [digest, keyFromFields(key)];
    }),
  );
}

/** Permissions are validated when a key is used, so that one invalid record does not disable all keys. */
function isKeyEntry(value: unknown): value is Record<string, unknown> {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['createdAt'] === 'string' &&
    ['string', 'undefined'].includes(typeof value['revokedAt']) &&
    [true, undefined].includes(value['development'] as boolean | undefined)
  );
}
