import { createHash } from 'node:crypto';

const SOURCE = 'wasm/value-end.ts';
const MODULE = 'gateway/json/value-end.generated.ts';

/**
 * Finds out whether the source of the WebAssembly has changed since it was compiled, by the SHA-256 that the module names.
 * @returns a sentence with the command that compiles it
 */
export function findStaleWasm(read: (path: string) => string): string[] {
  const digest = createHash('sha256').update(read(SOURCE)).digest('hex');
  if (read(MODULE).includes(digest)) return [];
  return [`${MODULE} is stale: run \`npm run test:all -- wasm --write\``];
}
