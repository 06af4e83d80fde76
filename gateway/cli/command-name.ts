import { basename } from 'node:path';

/**
 * How the reader of a text runs the command line, as this process was run. Never `npx gatehouse`: outside a checkout, npx
 * would run another project's package of that name.
 * @param script path of the program, as in `process.argv[1]`
 */
export function commandNameOf(script: string, env: Readonly<Record<string, string | undefined>>): string {
  if (env['npm_command'] !== undefined) return 'npx gatehouse-rpc';
  return basename(script) === 'gatehouse' ? 'gatehouse' : `node ${script}`;
}

export const commandName = commandNameOf(process.argv[1] ?? '', process.env);
