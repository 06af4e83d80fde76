import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/**
 * A package that most processes never need: it is loaded when it is first asked for, not with the file that names it.
 * @param name as in an import
 */
export function whenNeeded<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= load(name) as T);
}
