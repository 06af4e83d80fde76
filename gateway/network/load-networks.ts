import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { findConflicts } from './find-conflicts.ts';
import { reservedSlugs, type NetworkConfig } from './network-config.ts';
import { readNetwork } from './read-network.ts';

export interface LoadOptions {
  /** Folder of network files. */
  readonly folder: string;
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Where `${NAME}` in URLs and headers comes from. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Every mistake in every network file, a line each: `networks/base.yaml:7:5 upstreams[0].timeout is not known; …`. */
export class NetworkFilesError extends Error {
  override readonly name = 'NetworkFilesError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

/**
 * Reads all network files of a folder.
 * @throws NetworkFilesError with all mistakes at once
 */
export function loadNetworks(options: LoadOptions): NetworkConfig[] {
  const files = listFiles(options.folder);
  const mistakes: string[] = [];
  const networks: NetworkConfig[] = [];
  for (const file of files) {
    const slug = basename(file, '.yaml');
    const mistake = checkSlug(slug);
    if (mistake !== undefined) mistakes.push(`${file}:1:1 ${mistake}`);
    const read = readNetwork(slug, file, readFileSync(file, 'utf8'), options);
    if (Array.isArray(read)) mistakes.push(...read);
    else networks.push(read);
  }
  mistakes.push(...findConflicts(networks).map(({ slug, mistake }) => `${join(options.folder, slug)}.yaml ${mistake}`));
  if (mistakes.length > 0) throw new NetworkFilesError(mistakes);
  return networks;
}

function listFiles(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    throw new NetworkFilesError([`${folder}: the folder of network files cannot be read; set NETWORKS_DIR`]);
  }
  const files = names.filter((name) => name.endsWith('.yaml') && !name.startsWith('.')).sort();
  if (files.length === 0) throw new NetworkFilesError([`${folder}: there is no network file (<slug>.yaml) in it`]);
  return files.map((name) => join(folder, name));
}

function checkSlug(slug: string): string | undefined {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(slug)) {
    return 'the file name is the slug: expected lower-case letters, digits and hyphens';
  }
  return reservedSlugs.has(slug)
    ? `the slug ${slug} is a path of the gateway itself; name the file otherwise`
    : undefined;
}
