import { createRequire } from 'node:module';

/**
 * Loads a package, or one file of it, when it is called: for what most processes never need. Once; then it is there.
 * @param name as in an import
 */
export const loadPackage: (name: string) => unknown = createRequire(import.meta.url);
