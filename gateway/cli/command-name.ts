import { basename, relative } from 'node:path';

/**
 * Command with which the reader of a text runs the command line, as this process was run. Never `npx gatehouse`: outside a checkout, npx
 * would run another project's package of that name.
 * @param script path of the program, as in `process.argv[1]`
 */
export function commandNameOf(script: string, folder: string): string {
  const name = basename(script);
  if (name === 'gatehouse-rpc' || script.includes('node_modules/.bin/')) return 'npx gatehouse-rpc';
  return name === 'gatehouse' ? 'gatehouse' : `node ${relative(folder, script)}`;
}

export const commandName = commandNameOf(process.argv[1] ?? '', process.cwd());
