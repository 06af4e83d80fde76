import {
  appendFileSync,
  chownSync,
  closeSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { random } from '../clock/random.ts';
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
  makePrivateFolderFor(path);
  try {
    writeNew(path, '');
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

/** Replaces a file atomically and durably, with mode 0600. A concurrent reader gets the complete old or new content. */
export function replacePrivateFile(path: string, text: string): void {
  makePrivateFolderFor(path);
  const draft = `${path}.${random.uuid()}.tmp`;
  try {
    writeNew(draft, text);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Appends to a file, which is made with mode 0600 for the owner of its folder. A line is appended in one write. */
export function appendPrivateFile(path: string, text: string): void {
  makePrivateFolderFor(path);
  const file = openSync(path, 'a', 0o600);
  try {
    appendFileSync(file, text);
    giveToFolderOwner(file, path);
  } finally {
    closeSync(file);
  }
}

/** Makes a file with mode 0600 for the owner of its folder. @throws an error with the code EEXIST if there is one, or a link */
function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    // Not writeSync, which on a disk with little space writes a part and does not throw.
    writeFileSync(file, text);
    giveToFolderOwner(file, path);
    fsyncSync(file);
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
