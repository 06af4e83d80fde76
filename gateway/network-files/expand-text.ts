import { readFileSync, realpathSync, statSync } from 'node:fs';
import { errorCode } from '../config/log.ts';
import { secretSettings } from '../config/settings.ts';

const MISSPELT = 'write a variable as ${NAME} or ${NAME:-default}';
/** A token of a cloud provider has a few kB, the public authorities of a system 200 kB. */
const MAX_BYTES = 1024 * 1024;
/** Files of the kernel, such as the environment of this process, which has the admin token. */
const KERNEL_FILE = /^\/(proc|sys|dev)\//;

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * Expands `${NAME}` and `${NAME:-default}` from the environment, and `${file:/path}` to the content of a file.
 * @param report gets what is missing, misspelt or forbidden
 * @returns undefined after it has reported a problem
 */
export function expandText(text: string, env: Env, report: (problem: string) => void): string | undefined {
  const problems: string[] = [];
  const expanded = text.replace(/\$\{([^}]*)(\}?)/g, (_, inside: string, end: string) => {
    const { value = '', problem } = end === '' ? { problem: MISSPELT } : expandVariable(inside, env);
    if (problem !== undefined) problems.push(problem);
    return value;
  });
  for (const problem of problems) report(problem);
  return problems.length === 0 ? expanded : undefined;
}

/** The content of a PEM file. The parameters and the result are those of `expandText`. */
export function readFileText(path: string, _env: Env, report: (problem: string) => void): string | undefined {
  const { value, problem }: Expanded = path.includes('${')
    ? { problem: 'write the path without variables, or ${file:/path}' }
    : readSecretFile(path);
  if (problem !== undefined) report(problem);
  return value;
}

interface Expanded {
  readonly value?: string;
  readonly problem?: string;
}

/** @param inside the text between `${` and `}` */
function expandVariable(inside: string, env: Env): Expanded {
  if (inside.startsWith('file:')) return readSecretFile(inside.slice('file:'.length));
  const [, name = '', , fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?$/.exec(inside) ?? [];
  if (secretSettings.has(name)) {
    return { problem: `${name} is a credential of the gateway, which no upstream may get; use another variable` };
  }
  const value = env[name];
  if (value !== undefined && value !== '') return { value };
  if (fallback !== undefined) return { value: fallback };
  return { problem: name === '' ? MISSPELT : `the environment has no ${name}; set it, or write \${${name}:-default}` };
}

/** @returns the text of a file with a credential, without line breaks at its end */
export function readSecretFile(path: string): { readonly value: string } | { readonly problem: string } {
  if (!path.startsWith('/')) return { problem: 'write a file with its full path: ${file:/run/secrets/name}' };
  try {
    // Without links: one may lead there.
    if (KERNEL_FILE.test(realpathSync(path))) return { problem: `${path} is in /proc, /sys or /dev` };
    const state = statSync(path);
    // Reading a pipe would block forever.
    if (!state.isFile()) return { problem: `${path} is not a file` };
    if (state.size > MAX_BYTES) return { problem: `${path} is larger than ${MAX_BYTES / 1024 / 1024} MB` };
    const value = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
    return value === '' ? { problem: `${path} is empty` } : { value };
  } catch (error) {
    return { problem: `${path} cannot be read (${errorCode(error)})` };
  }
}
