import { createRequire } from 'node:module';

/**
 * Loads a package, or one file of it, at the first call. For packages that most processes never use.
 * @param name as in an import
 */
export const loadPackage: (name: string) => unknown = createRequire(import.meta.url);
