import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { packageRoot } from '../config/package.ts';
import { findConflicts } from './find-conflicts.ts';
import { isSlug, reservedSlugs, type NetworkConfig } from './network-config.ts';
import type { Located } from './parse-yaml.ts';
import { readNetwork, type ReadNetwork } from './read-network.ts';
import type { LoadOptions } from './load-options.ts';

/** More than this in one file, and something is wrong as a whole. */
const MAX_SHOWN_DIAGNOSTICS = 100;

const DIGEST_LENGTH = 16;

/** A mistake in a network file, or of the whole folder: then it has no file. Without a place it is of the whole file. */
export interface FileDiagnostic {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

/** Every mistake in every network file, a line each: `networks/base.yaml:7:5 upstreams[0].timeout is not known; …`. */
export class NetworkFilesError extends Error {
  override readonly name = 'NetworkFilesError';
  readonly diagnostics: readonly FileDiagnostic[];

  constructor(diagnostics: readonly FileDiagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join('\n'));
    this.diagnostics = diagnostics;
  }
}

/** A network file as it was read; a text, or why there is none. */
interface NetworkFile {
  readonly file: string;
  readonly slug: string;
  readonly text?: string;
  readonly diagnostic?: Located;
}

/** All that a folder said at one moment. */
export interface FolderContent {
  readonly files: readonly NetworkFile[];
  /** Of the folder as a whole. */
  readonly diagnostics: readonly FileDiagnostic[];
  /** Changes with any of it. Tells nothing of what is in it. */
  readonly digest: string;
}

/**
 * Reads all network files of a folder.
 * @throws NetworkFilesError with all mistakes at once
 */
export function loadNetworks(options: LoadOptions): NetworkConfig[] {
  return checkFiles(readFolder(options.folder), options);
}

/** Reads each file once, and looks at nothing in it. */
export function readFolder(folder: string): FolderContent {
  const listed = listFiles(findFolder(folder));
  const files = Array.isArray(listed) ? listed.map(readFile) : [];
  const diagnostics = Array.isArray(listed) ? [] : [listed];
  const content = files.map(({ file, text, diagnostic }) => [basename(file), text, diagnostic]);
  const hash = createHash('sha256').update(JSON.stringify([content, diagnostics]));
  return { files, diagnostics, digest: hash.digest('hex').slice(0, DIGEST_LENGTH) };
}

/** @throws NetworkFilesError with all mistakes at once */
export function checkFiles(content: FolderContent, options: LoadOptions): NetworkConfig[] {
  const files = content.files.map((file) => checkFile(file, options));
  const networks = files.flatMap(({ network }) => (network === undefined ? [] : [network]));
  const conflicts = findConflicts(networks);
  const fileDiagnostics = files.flatMap(({ file, slug, diagnostics, locate }) => {
    const ofOthers = conflicts.filter((conflict) => conflict.slug === slug).map(({ diagnostic }) => locate(diagnostic));
    return sortDiagnostics(file, [...diagnostics, ...ofOthers]);
  });
  const all = [...content.diagnostics, ...fileDiagnostics];
  if (all.length > 0) throw new NetworkFilesError(all);
  return networks;
}

/** `networks` is the working directory's, or else the one that comes with the gateway. Another one must be there. */
export function findFolder(folder: string): string {
  const own = join(packageRoot, 'networks');
  return folder === 'networks' && !existsSync(folder) && existsSync(own) ? own : folder;
}

/** @returns the files, or what is wrong with the folder */
function listFiles(folder: string): string[] | FileDiagnostic {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    const whole = resolve(folder) === folder ? '' : ` (that is ${resolve(folder)})`;
    return { message: `${folder}${whole}: the folder of network files cannot be read; set NETWORKS_DIR` };
  }
  const files = names.filter(isNetworkFile).sort();
  if (files.length === 0) return { message: `${folder}: there is no network file (<slug>.yaml) in it` };
  return files.map((name) => join(folder, name));
}

/** By its name; what editors leave behind and hidden files are none. */
export function isNetworkFile(name: string): boolean {
  return /\.ya?ml$/i.test(name) && !name.startsWith('.');
}

function readFile(file: string): NetworkFile {
  const slug = basename(file, extname(file));
  const without = (message: string): NetworkFile => ({ file, slug, diagnostic: atStart(message) });
  if (extname(file) !== '.yaml') return without(`network files end in .yaml: rename it to ${slug}.yaml`);
  try {
    // A folder or a pipe of that name is no network file; reading a pipe would wait for ever.
    if (!statSync(file).isFile()) return without('expected a file');
    return { file, slug, text: readFileSync(file, 'utf8') };
  } catch (error) {
    return without(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function checkFile(
  { file, slug, text = '', diagnostic }: NetworkFile,
  options: LoadOptions,
): ReadNetwork & { file: string; slug: string } {
  if (diagnostic !== undefined) {
    return { file, slug, network: undefined, locate: () => atStart(''), diagnostics: [diagnostic] };
  }
  const read = readNetwork(slug, text, options);
  const wrongSlug = checkSlug(slug);
  return {
    file,
    slug,
    ...read,
    diagnostics: wrongSlug === undefined ? read.diagnostics : [wrongSlug, ...read.diagnostics],
  };
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
function sortDiagnostics(file: string, diagnostics: readonly Located[]): FileDiagnostic[] {
  const sorted = [...diagnostics].sort((a, b) => a.line - b.line || a.column - b.column);
  const placed = sorted.map((diagnostic): FileDiagnostic => ({ file, ...diagnostic }));
  const more = placed.length - MAX_SHOWN_DIAGNOSTICS;
  return more > 0 ? [...placed.slice(0, MAX_SHOWN_DIAGNOSTICS), { file, message: `and ${more} more` }] : placed;
}

/** Where it is, without a word of what is there. */
export function formatPosition({ file, line, column }: FileDiagnostic): string {
  if (file === undefined) return 'the folder as a whole';
  return line === undefined || column === undefined ? basename(file) : `${basename(file)}:${line}:${column}`;
}

/** A line of it. */
export function formatDiagnostic({ file, line, column, message }: FileDiagnostic): string {
  if (file === undefined) return message;
  return line === undefined || column === undefined ? `${file}: ${message}` : `${file}:${line}:${column} ${message}`;
}
