import { randomUUID } from 'node:crypto';
import { appendFileSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes the folder of `path` where it is missing, for its owner alone. */
export function makePrivateFolderFor(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/**
 * Writes a file that only its owner can read. Whoever reads it meanwhile sees the old content or the new one, whole.
 * @param isLasting whether it must outlast a power cut from now on; that takes a disk some milliseconds
 */
export function writePrivateFile(path: string, text: string, { isLasting = true } = {}): void {
  makePrivateFolderFor(path);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeSync(file, text);
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

/** Adds to a file that only its owner can read. A line goes in whole. */
export function appendPrivateFile(path: string, text: string): void {
  makePrivateFolderFor(path);
  appendFileSync(path, text, { mode: 0o600 });
}
