import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';

/** The existing folders, relative to the package root, that `npm ci --omit=dev` would install. */
export function productionPackages(): string[] {
  const lockfile = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(lockfile.packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path]) => path)
    .filter((path) => path.lastIndexOf('node_modules') === 0 && existsSync(join(packageRoot, path)));
}
