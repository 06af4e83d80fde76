import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { packageRoot } from '../config/package.ts';
import { findConflicts } from './find-conflicts.ts';
import { isSlug, reservedSlugs, type NetworkConfig } from './network-config.ts';
import type { Located } from './parse-yaml.ts';
import { readNetwork, type ReadNetwork } from './read-network.ts';

export interface LoadOptions {
  /** Folder of network files. */
  readonly folder: string;
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Where `${NAME}` in URLs and headers comes from. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** More than this in one file, and something is wrong as a whole. */
const MISTAKES_SHOWN = 100;

/** A mistake in a network file, or of the whole folder: then it has no file. Without a place it is of the whole file. */
export interface FileMistake {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

/** Every mistake in every network file, a line each: `networks/base.yaml:7:5 upstreams[0].timeout is not known; …`. */
export class NetworkFilesError extends Error {
  override readonly name = 'NetworkFilesError';
  readonly mistakes: readonly FileMistake[];

  constructor(mistakes: readonly FileMistake[]) {
    super(mistakes.map(writeLine).join('\n'));
    this.mistakes = mistakes;
  }
}

/**
 * Reads all network files of a folder.
 * @throws NetworkFilesError with all mistakes at once
 */
export function loadNetworks(options: LoadOptions): NetworkConfig[] {
  const files = listFiles(findFolder(options.folder)).map((file) => readFile(file, options));
  const networks = files.flatMap(({ network }) => (network === undefined ? [] : [network]));
  const conflicts = findConflicts(networks);
  const all = files.flatMap(({ file, slug, mistakes, locate }) => {
    const ofOthers = conflicts.filter((conflict) => conflict.slug === slug).map(({ mistake }) => locate(mistake));
    return inOrder(file, [...mistakes, ...ofOthers]);
  });
  if (all.length > 0) throw new NetworkFilesError(all);
  return networks;
}

/** `networks` is the working directory's, or else the one that comes with the gateway. Another one must be there. */
export function findFolder(folder: string): string {
  const own = join(packageRoot, 'networks');
  return folder === 'networks' && !existsSync(folder) && existsSync(own) ? own : folder;
}

function listFiles(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    const whole = resolve(folder) === folder ? '' : ` (that is ${resolve(folder)})`;
    const message = `${folder}${whole}: the folder of network files cannot be read; set NETWORKS_DIR`;
    throw new NetworkFilesError([{ message }]);
  }
  const files = names.filter((name) => /\.ya?ml$/i.test(name) && !name.startsWith('.')).sort();
  if (files.length === 0) {
    throw new NetworkFilesError([{ message: `${folder}: there is no network file (<slug>.yaml) in it` }]);
  }
  return files.map((name) => join(folder, name));
}

function readFile(file: string, options: LoadOptions): ReadNetwork & { file: string; slug: string } {
  const slug = basename(file, extname(file));
  const nothing = { network: undefined, locate: () => atStart('') };
  if (extname(file) !== '.yaml') {
    return { file, slug, ...nothing, mistakes: [atStart(`network files end in .yaml: rename it to ${slug}.yaml`)] };
  }
  let text: string;
  try {
    // A folder or a pipe of that name is no network file; reading a pipe would wait for ever.
    if (!statSync(file).isFile()) return { file, slug, ...nothing, mistakes: [atStart('expected a file')] };
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    return { file, slug, ...nothing, mistakes: [atStart(`the file cannot be read (${code})`)] };
  }
  const read = readNetwork(slug, text, options);
  const wrongSlug = checkSlug(slug);
  return { file, slug, ...read, mistakes: wrongSlug === undefined ? read.mistakes : [wrongSlug, ...read.mistakes] };
}

function checkSlug(slug: string): Located | undefined {
  if (!isSlug(slug)) {
    return atStart('the file name is the slug: expected 1 to 63 lower-case letters, digits and hyphens before .yaml');
  }
  if (!reservedSlugs.has(slug)) return undefined;
  return atStart(`the slug ${slug} is a path of the gateway itself: give the file another name`);
}

function atStart(message: string): Located {
  return { line: 1, column: 1, message };
}

/** In the order in which they stand in the file. */
function inOrder(file: string, mistakes: readonly Located[]): FileMistake[] {
  const sorted = [...mistakes].sort((a, b) => a.line - b.line || a.column - b.column);
  const placed = sorted.map((mistake): FileMistake => ({ file, ...mistake }));
  const more = placed.length - MISTAKES_SHOWN;
  return more > 0 ? [...placed.slice(0, MISTAKES_SHOWN), { file, message: `and ${more} more` }] : placed;
}

function writeLine({ file, line, column, message }: FileMistake): string {
  if (file === undefined) return message;
  return line === undefined || column === undefined ? `${file}: ${message}` : `${file}:${line}:${column} ${message}`;
}
