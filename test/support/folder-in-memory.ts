import { accessSync, constants, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a folder for the data of a gateway, in memory where the system has such a place: a gateway waits for the disk for 44 ms when it
 * makes its store, as long as a usual test takes. Files that network files name cannot be there.
 */
export function makeFolderInMemory(prefix: string): string {
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
