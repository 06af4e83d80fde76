import { readFileSync, realpathSync, statSync } from 'node:fs';
import type * as Yaml from 'yaml';
import { loadPackage } from '../../config/load-package.ts';
import { errorCode } from '../../config/log.ts';
import { isNestedTooDeep } from '../diagnostics/parse-yaml.ts';

/** A token of a cloud provider has a few kB, the public authorities of a system 200 kB. */
const MAX_BYTES = 1024 * 1024;
/** Files of the kernel, such as the environment of this process, which has the admin token. */
const KERNEL_FILE = /^\/(proc|sys|dev)\//;

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

/** The paths of the files with credentials and certificates that network files refer to. */
export function secretFilesIn(texts: readonly string[]): string[] {
  const paths = texts.flatMap((text) => [
    ...[...text.matchAll(/\$\{file:(\/[^}\n]+)\}/g)].map(([, path = '']) => path),
    ...(/\btls\b/.test(text) && !isNestedTooDeep(text) ? pathsIn(text) : []),
  ]);
  return [...new Set(paths)].sort();
}

/** The values that start with a slash: only paths do. */
function pathsIn(yaml: string): string[] {
  const { isScalar, parseDocument, visit } = loadPackage('yaml') as typeof Yaml;
  const paths: string[] = [];
  visit(parseDocument(yaml, { logLevel: 'silent' }), {
    Pair(_, { value }) {
      if (isScalar(value) && typeof value.value === 'string' && value.value.startsWith('/')) paths.push(value.value);
    },
  });
  return paths;
}
