import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadNetworks, NetworkFilesError } from '../../gateway/network-files/load-networks.ts';
import type { NetworkConfig } from '../../gateway/network-files/network-config.ts';
import { methodFacts } from '../../gateway/spec/method-facts.ts';

export const { knownMethods, needsUpstream, isNeverOpened, headMethod, sendsTransactions } = methodFacts;
const facts = { knownMethods, needsUpstream, isNeverOpened, headMethod, sendsTransactions };

/** The lines of a valid network file. */
export const good = ['name: Base', 'chainId: 8453', 'upstreams:', '  - name: one', '    url: https://one.example'];

/** The configuration of a network with these members of its file. */
export function configOf(slug: string, members: object = {}): NetworkConfig {
  const file = { name: slug, chainId: 1, upstreams: [{ name: 'one', url: 'https://one.example' }], ...members };
  const [config] = loadFiles({ [`${slug}.yaml`]: JSON.stringify(file) });
  if (config === undefined) throw new Error(`${slug} was not loaded`);
  return config;
}

/** Writes the files to a temporary folder and loads it. */
export function loadFiles(files: Record<string, string>, env: Record<string, string> = {}): readonly NetworkConfig[] {
  return inFolder(files, (folder) => loadNetworks({ folder, ...facts, env }));
}

/** The diagnostics of the files, without the folder in their positions: `base.yaml:7:5 …`. */
export function diagnosticsIn(files: Record<string, string>, env: Record<string, string> = {}): string[] {
  return inFolder(files, (folder) => {
    try {
      loadNetworks({ folder, ...facts, env });
      return [];
    } catch (error) {
      if (!(error instanceof NetworkFilesError)) throw error;
      return error.message.split('\n').map((line) => line.replace(`${folder}/`, ''));
    }
  });
}

/** The diagnostics of one file, with position and message: `7:5 …`. */
export function diagnosticsOf(text: string | readonly string[], env: Record<string, string> = {}): string[] {
  const yaml = typeof text === 'string' ? text : `${text.join('\n')}\n`;
  return diagnosticsIn({ 'base.yaml': yaml }, env).map((line) => line.replace(/^base\.yaml:/, ''));
}

function inFolder<Result>(files: Record<string, string>, use: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
    }
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
