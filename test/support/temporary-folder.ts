import { accessSync, constants, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a folder for the small files of a gateway, in memory where the system has such a place: the gateway waits for the disk
 * when it makes its store, for 40 ms, and a test that starts one takes about as long.
 */
export function makeTemporaryFolder(prefix: string): string {
  return mkdtempSync(join(root, prefix));
}

const root = isWritable('/dev/shm') ? '/dev/shm' : tmpdir();

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
