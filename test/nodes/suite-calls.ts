import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { coreMethods, type CoreCall } from '../parity/core-calls.ts';

/**
 * The folder with the official test suite of execution-apis: its chain and its conversations.
 * @throws Error that names what is missing
 */
export function suiteFolder(): string {
  const folder = resolve(packageRoot, process.env['EXECUTION_APIS'] ?? '../shared/data/execution-apis-suite');
  if (existsSync(join(folder, 'chain.rlp'))) return folder;
  throw new Error(
    'npm run test:nodes needs the tests of ethereum/execution-apis: set EXECUTION_APIS to the folder with their chain.rlp.',
  );
}

/** Every request of the suite to a core method except `eth_sendRawTransaction`. */
export function suiteCalls(folder: string): CoreCall[] {
  const requests = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) =>
      readdirSync(join(folder, name)).map((file) => readFileSync(join(folder, name, file), 'utf8')),
    )
    .flatMap((text) => text.split('\n').filter((line) => line.startsWith('>> ')))
    .map((line) => JSON.parse(line.slice(3)) as { readonly method: string; readonly params?: readonly unknown[] });
  return requests
    .filter(({ method }) => coreMethods.includes(method) && method !== 'eth_sendRawTransaction')
    .map(({ method, params = [] }) => ({ method, params }));
}
