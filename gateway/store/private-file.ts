import {
  appendFileSync,
  chownSync,
  closeSync,
  existsSync,
  fchownSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../config/log.ts';

/**
 * Gives a file that root makes to the owner of its folder. Else the service, which has another account, could not read
 * keys of a command that root ran, and would not start.
 */
function giveToFolderOwner(file: number, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (uid !== 0) fchownSync(file, uid, gid);
}

/** Makes the folder of `path` if it is missing, with mode 0700. */
function makePrivateFolderFor(path: string): void {
  const folder = dirname(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined || process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(first));
  for (let made = folder; uid !== 0 && made.startsWith(first); made = dirname(made)) chownSync(made, uid, gid);
}

/** Makes the file and its folder, if they are missing. SQLite gives its other files the same mode and owner. */
export function makePrivateFile(path: string): void {
  if (!existsSync(path)) writePrivateFile(path, '');
}

/**
 * Writes to a file, which is made with mode 0600 for the owner of its folder. A line is appended in one write.
 * @param flag `a`: appends the text; `w`: replaces the whole text
 */
export function writePrivateFile(path: string, text: string, flag: 'a' | 'w' = 'a'): void {
  makePrivateFolderFor(path);
  const file = openSync(path, flag, 0o600);
  try {
    appendFileSync(file, text);
    giveToFolderOwner(file, path);
  } finally {
    closeSync(file);
  }
}

/** Whether an error of the file system means that the disk, or the account's quota, is full. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errorCode(error));
}

/** Whether one block cannot be written beside `path`. It writes one, because free blocks do not show quotas. */
export function isDiskFullAt(path: string): boolean {
  const probe = `${path}.${process.pid}.probe`;
  try {
    writeFileSync(probe, Buffer.alloc(4_096), { mode: 0o600 });
    return false;
  } catch (error) {
    return isDiskFull(error);
  } finally {
    rmSync(probe, { force: true });
  }
}
