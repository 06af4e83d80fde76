import { randomUUID } from 'node:crypto';
import { appendFileSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../../config/log.ts';

/** Makes the folder of `path` if it is missing, with mode 0700. */
export function makePrivateFolderFor(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/**
 * Replaces a file atomically, with mode 0600. A concurrent reader gets the complete old or new content.
 * @param isLasting whether the content must survive a power cut; fsync takes some milliseconds
 */
export function writePrivateFile(path: string, text: string, { isLasting = true } = {}): void {
  makePrivateFolderFor(path);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      // Not writeSync, which on a disk with little space writes a part and does not throw.
      writeFileSync(file, text);
      if (isLasting) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Appends to a file with mode 0600. A line is appended in one write. */
export function appendPrivateFile(path: string, text: string): void {
  makePrivateFolderFor(path);
  appendFileSync(path, text, { mode: 0o600 });
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
