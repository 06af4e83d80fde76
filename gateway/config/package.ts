import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of `package.json`: two levels above this source file, three above its compiled form. */
export const packageRoot = findPackageRoot(dirname(fileURLToPath(import.meta.url)));

export const version = (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string })
  .version;

function findPackageRoot(folder: string): string {
  try {
    readFileSync(join(folder, 'package.json'));
    return folder;
  } catch (error) {
    if (dirname(folder) === folder) throw error;
    return findPackageRoot(dirname(folder));
  }
}
