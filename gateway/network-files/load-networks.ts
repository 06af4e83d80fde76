import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import type * as Yaml from 'yaml';
import { loadPackage } from '../config/load-package.ts';
import { packageRoot } from '../config/package.ts';
import { DEFAULTS, type Defaults, joinShared, readDefaults } from './defaults.ts';
import type { Diagnostic, Path } from './diagnostics.ts';
import { readSecretFile } from './expand-text.ts';
import type { NetworkConfig, LoadOptions } from './network-config.ts';
import { isSlug, reservedSlugs, checkBaseUrl, splitBaseUrl } from './options/check-texts.ts';
import { type Located, MAX_FILE_BYTES, TOO_LARGE, isNestedTooDeep } from './parse-yaml.ts';
import { readNetwork, type ReadNetwork } from './read-network.ts';

/** Limit of diagnostics for one file. The rest is only counted. */
const MAX_SHOWN_DIAGNOSTICS = 100;

const DIGEST_LENGTH = 16;

/** Name of the file, without `.yaml`, about tokens: `readAuth` reads it. It is no network. */
export const AUTH = 'auth';

/** A diagnostic of a network file. Without line and column it is about the whole file, without file about the folder. */
export interface FileDiagnostic {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

/** Carries all diagnostics of a folder, one a line: `networks/base.yaml:7:5 upstreams[0].timeout is not known; …`. */
export class NetworkFilesError extends Error {
  override readonly name = 'NetworkFilesError';
  readonly diagnostics: readonly FileDiagnostic[];

  constructor(diagnostics: readonly FileDiagnostic[]) {
    super(diagnostics.map(formatDiagnostic).join('\n'));
    this.diagnostics = diagnostics;
  }
}

/** The content of a network file, or a diagnostic if it cannot be read. */
interface NetworkFile {
  readonly file: string;
  readonly slug: string;
  readonly text?: string;
  readonly diagnostic?: Located;
}

/** The content of a folder at one moment. */
export interface FolderContent {
  readonly files: readonly NetworkFile[];
  /** Diagnostics about the folder as a whole. */
  readonly diagnostics: readonly FileDiagnostic[];
  /** Changes with every change of the content. A hash, so it reveals no secret. */
  readonly digest: string;
  /** The files with credentials that the network files refer to. */
  readonly secretFiles: readonly string[];
  /** Changes with the network files and with the files with credentials. Secret, because it is a hash of credentials. */
  readonly version: string;
}

/**
 * Reads and validates all network files of a folder.
 * @throws NetworkFilesError with all diagnostics
 */
export function loadNetworks(options: LoadOptions): NetworkConfig[] {
  return checkFiles(readFolder(options.folder), options);
}

/** Reads each file once, without validation. */
export function readFolder(folder: string): FolderContent {
  const { paths, diagnostics } = listFiles(findFolder(folder));
  const files = paths.map(readFile);
  const content = files.map(({ file, text, diagnostic }) => [basename(file), text, diagnostic]);
  const digest = hashOf([content, diagnostics]).slice(0, DIGEST_LENGTH);
  const secretFiles = secretFilesIn(files.map(({ text = '' }) => text));
  return { files, diagnostics, digest, secretFiles, version: hashOf([digest, secretFiles.map(readSecretFile)]) };
}

/** The paths of the files with credentials and certificates that network files refer to. */
function secretFilesIn(texts: readonly string[]): string[] {
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

type FileTexts = Pick<FolderContent, 'files'>;

/** Names of the files that were added, changed or removed. */
export function changedFiles(before: FileTexts, after: FileTexts): string[] {
  const textsOf = ({ files }: FileTexts) => new Map(files.map(({ file, text }) => [basename(file), text]));
  const [old, current] = [textsOf(before), textsOf(after)];
  return [...new Set([...old.keys(), ...current.keys()])].filter((name) => old.get(name) !== current.get(name));
}

/** Validates all files. @throws NetworkFilesError with all diagnostics */
export function checkFiles(content: FolderContent, options: LoadOptions): NetworkConfig[] {
  const shared = content.files.find(({ slug }) => slug === DEFAULTS);
  const { defaults, diagnostics: ofShared } = readShared(shared);
  // Without the options of an unusable defaults.yaml, network files would seem to lack them.
  const isUsable = shared === undefined || defaults !== undefined;
  const networkFiles = content.files.filter(({ slug }) => isUsable && isNetwork(slug));
  const files = networkFiles.map((file) => checkFile(file, options, defaults));
  const networks = files.flatMap(({ network }) => (network === undefined ? [] : [network]));
  const conflicts = findConflicts(networks);
  const found = files.map(({ file, slug, network, diagnostics, locate }) => {
    const ownConflicts = conflicts.filter((conflict) => conflict.slug === slug);
    const inherits = (path: Path): boolean =>
      network === undefined || locate({ path, message: '' }).isInDefaults === true;
    return {
      file,
      inherits,
      diagnostics: [...diagnostics, ...ownConflicts.map(({ diagnostic }) => locate(diagnostic))],
    };
  });
  const all = [
    ...content.diagnostics,
    ...sortDiagnostics(shared?.file ?? '', [...ofShared, ...joinShared(found, ofShared)]),
    ...found.flatMap(({ file, diagnostics }) => sortDiagnostics(file, diagnostics.filter(isOwn))),
  ];
  if (all.length > 0) throw new NetworkFilesError(all);
  return networks;
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function readShared(file: NetworkFile | undefined): ReturnType<typeof readDefaults> {
  if (file?.diagnostic !== undefined) return { diagnostics: [file.diagnostic] };
  return file === undefined ? { diagnostics: [] } : readDefaults(file.text ?? '');
}

/** Whether a file with this name is a network. */
export function isNetwork(slug: string): boolean {
  return slug !== DEFAULTS && slug !== AUTH;
}

function isOwn({ isInDefaults }: Located): boolean {
  return isInDefaults !== true;
}

/** The folder `networks` defaults to the one in the package if the working directory has none. Others have no default. */
export function findFolder(folder: string): string {
  return isPackageFolder(folder) ? packageFolder : folder;
}

/** Whether `findFolder` returns the folder in the package, which has public endpoints only. */
export function isPackageFolder(folder: string): boolean {
  return folder === 'networks' && !existsSync(folder) && existsSync(packageFolder);
}

const packageFolder = join(packageRoot, 'networks');

function listFiles(folder: string): { paths: string[]; diagnostics: FileDiagnostic[] } {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    const absolute = resolve(folder) === folder ? '' : ` (that is ${resolve(folder)})`;
    const message = `${folder}${absolute}: the folder of network files cannot be read; set NETWORKS_DIR`;
    return { paths: [], diagnostics: [{ message }] };
  }
  const files = names.filter(isNetworkFile).sort();
  const hasNetwork = files.some((name) => isNetwork(basename(name, extname(name))));
  const diagnostics = hasNetwork ? [] : [{ message: `${folder}: the folder has no network file (<slug>.yaml)` }];
  return { paths: files.map((name) => join(folder, name)), diagnostics };
}

/** Slugs of the networks that have a file, valid or not; none if the folder cannot be read. */
export function slugsIn(folder: string): string[] {
  const { paths } = listFiles(findFolder(folder));
  return paths.map((file) => basename(file, extname(file))).filter(isNetwork);
}

/** Decides by the name. Hidden files and backup files of editors are not network files. */
export function isNetworkFile(name: string): boolean {
  return /\.ya?ml$/i.test(name) && !name.startsWith('.');
}

function readFile(file: string): NetworkFile {
  const slug = basename(file, extname(file));
  const unreadable = (message: string): NetworkFile => ({ file, slug, diagnostic: atStart(message) });
  if (extname(file) !== '.yaml') return unreadable(`network files end in .yaml: rename it to ${slug}.yaml`);
  try {
    // Reading a pipe would block forever.
    const state = statSync(file);
    if (!state.isFile()) return unreadable('expected a file');
    if (state.size > MAX_FILE_BYTES) return unreadable(TOO_LARGE);
    return { file, slug, text: readFileSync(file, 'utf8') };
  } catch (error) {
    return unreadable(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function checkFile(
  { file, slug, text = '', diagnostic }: NetworkFile,
  options: LoadOptions,
  defaults: Defaults | undefined,
): ReadNetwork & { file: string; slug: string } {
  if (diagnostic !== undefined) {
    return { file, slug, network: undefined, locate: () => atStart(''), diagnostics: [diagnostic] };
  }
  const read = readNetwork(slug, text, options, defaults);
  const slugDiagnostic = checkSlug(slug);
  return {
    file,
    slug,
    ...read,
    diagnostics: slugDiagnostic === undefined ? read.diagnostics : [slugDiagnostic, ...read.diagnostics],
  };
}

function checkSlug(slug: string): Located | undefined {
  if (!isSlug(slug)) {
    return atStart('the file name is the slug: expected 1 to 63 lower-case letters, digits and hyphens before .yaml');
  }
  if (!reservedSlugs.has(slug)) return undefined;
  return atStart(`the slug ${slug} is reserved for a path of the gateway: rename the file`);
}

function atStart(message: string): Located {
  return { line: 1, column: 1, message };
}

/** Sorts by position and limits the number. */
function sortDiagnostics(file: string, diagnostics: readonly Located[]): FileDiagnostic[] {
  const sorted = [...diagnostics].sort((a, b) => a.line - b.line || a.column - b.column);
  const inFile = sorted.map(({ line, column, message }): FileDiagnostic => ({ file, line, column, message }));
  const more = inFile.length - MAX_SHOWN_DIAGNOSTICS;
  return more > 0 ? [...inFile.slice(0, MAX_SHOWN_DIAGNOSTICS), { file, message: `and ${more} more` }] : inFile;
}

/** The position without the message, for public pages. */
export function formatPosition({ file, line, column }: FileDiagnostic): string {
  if (file === undefined) return 'the folder as a whole';
  return line === undefined || column === undefined ? basename(file) : `${basename(file)}:${line}:${column}`;
}

/** One line: position and message. */
export function formatDiagnostic({ file, line, column, message }: FileDiagnostic): string {
  if (file === undefined) return message;
  return line === undefined || column === undefined ? `${file}: ${message}` : `${file}:${line}:${column} ${message}`;
}

/** Finds base URLs that belong to two networks. Skips invalid base URLs, because `readNetwork` reports those. */
function findConflicts(networks: readonly NetworkConfig[]): { slug: string; diagnostic: Diagnostic }[] {
  const conflicts: { slug: string; diagnostic: Diagnostic }[] = [];
  const owners = new Map<string, string>();
  const slugs = new Set(networks.map((network) => network.slug));
  for (const { slug, baseUrls } of networks) {
    baseUrls.forEach((baseUrl, index) => {
      if (checkBaseUrl(baseUrl) !== undefined) return;
      const { host, path } = splitBaseUrl(baseUrl);
      const problem = describeConflict(path, slug, slugs, owners.get(host + path));
      owners.set(host + path, owners.get(host + path) ?? slug);
      if (problem === undefined) return;
      const message = `baseUrls[${index}]: ${baseUrl} ${problem}`;
      conflicts.push({ slug, diagnostic: { path: ['baseUrls', index], message } });
    });
  }
  return conflicts;
}

/** @param path of the base URL  @param owner slug of the first network with this base URL */
function describeConflict(
  path: string,
  slug: string,
  slugs: ReadonlySet<string>,
  owner: string | undefined,
): string | undefined {
  // One network may list an address twice: with https and http, or with and without a trailing slash.
  if (owner !== undefined && owner !== slug) return `is also a base URL of ${owner}`;
  const firstSegment = path.slice(1);
  return firstSegment !== slug && slugs.has(firstSegment)
    ? `is taken: network ${firstSegment} has this path on every host`
    : undefined;
}
