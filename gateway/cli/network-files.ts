import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { packageRoot } from '../config/package.ts';
import { findAnvil } from '../local-chain/local-node.ts';
import { knownChain, type KnownChain } from '../network-files/chains/known-chain.ts';
import { loadNetworks, NetworkFilesError } from '../network-files/load-networks.ts';
import { isSlug, reservedSlugs } from '../network-files/network-config.ts';
import { methods as specs } from '../spec/methods.generated.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Something asked for that cannot be done; the message says why and what else to do. */
export class NetworkFileError extends Error {
  override readonly name = 'NetworkFileRefusal';
}

const own = join(packageRoot, 'networks');

/** More is rarely of use: each is one more to be asked when the others fail. */
const MAX_ENDPOINTS = 3;

/**
 * Makes the folder of network files, with those that come with the gateway.
 * @returns what is to be said of it
 * @throws NetworkFileRefusal where the folder has something in it
 */
export function initNetworks(folder: string): string {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new NetworkFileError(`${folder} is there already: to add a network, gatehouse networks add <chainId>`);
  }
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(own).filter((name) => name.endsWith('.yaml'));
  // It would be left out at each start, with a line that says so.
  const cached = names.filter((name) => name !== 'local.yaml' || findAnvil() !== undefined);
  for (const name of cached) writeNew(join(folder, name), withSchema(readFileSync(join(own, name), 'utf8'), folder));
  return (
    `Wrote ${cached.length} networks to ${folder}. Their upstreams are public endpoints: put your own first, and remove\n` +
    'the files that you do not need. What they do tells gatehouse doctor; then, gatehouse start.\n'
  );
}

/**
 * Writes the file of one network: the gateway's own where there is one, else made of what is known of the chain.
 * @returns what is to be said of it
 * @throws NetworkFileRefusal
 */
export function addNetwork(folder: string, env: Env, given: string, slug?: string): string {
  const chainId = /^[1-9]\d{0,15}$/.test(given) ? Number(given) : undefined;
  if (chainId === undefined) throw new NetworkFileError('expected a chain id, a whole number: 8453 for Base');
  if (!existsSync(folder)) throw new NetworkFileError(`there is no folder ${folder} here: gatehouse init makes it`);
  const file = shippedFile(chainId) ?? generatedFile(chainId, given);
  const name = slug ?? file.slug;
  if (!isSlug(name) || reservedSlugs.has(name)) {
    throw new NetworkFileError(
      `${name} cannot be a slug: expected lower-case letters, digits and hyphens, and no path of ours; give another by --slug`,
    );
  }
  const twin = slug === undefined ? networkWithChainId(folder, env, chainId) : undefined;
  if (twin !== undefined) {
    throw new NetworkFileError(
      `${join(folder, `${twin}.yaml`)} has chain ${chainId} already; for another, give --slug`,
    );
  }
  const path = join(folder, `${name}.yaml`);
  writeNew(path, withSchema(file.text, folder));
  return (
    `Wrote ${path}. Its upstreams are public endpoints: put your own node or provider first.\n` +
    'Whether it answers tells gatehouse doctor.\n'
  );
}

function shippedFile(chainId: number): { slug: string; text: string } | undefined {
  const files = readdirSync(own).filter((name) => name.endsWith('.yaml'));
  const read = files.map((name) => ({ slug: name.slice(0, -5), text: readFileSync(join(own, name), 'utf8') }));
  return read.find(({ text }) => new RegExp(`^chainId: ${chainId}$`, 'm').test(text));
}

function generatedFile(chainId: number, given: string): { slug: string; text: string } {
  const chain = knownChain(chainId);
  if (chain === undefined) {
    throw new NetworkFileError(
      `chain ${given} is not in the list of known chains: write its file by hand, as README.md shows`,
    );
  }
  return { slug: slugOf(chain.name, chainId), text: networkFileOf(chain, chainId) };
}

function slugOf(name: string, chainId: number): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = words.join('-').slice(0, 63).replace(/-$/, '');
  return isSlug(slug) && !reservedSlugs.has(slug) ? slug : `chain-${chainId}`;
}

/** A network file made of what is known of a chain. */
export function networkFileOf({ name, rpc, zks, explorer }: KnownChain, chainId: number): string {
  const upstreams = rpc.slice(0, MAX_ENDPOINTS).map((url, index) => {
    return `  - name: public${index === 0 ? '' : `-${index + 1}`}\n    url: ${JSON.stringify(url)}\n`;
  });
  return [
    '# yaml-language-server: $schema=../schemas/network.schema.json',
    `# Made of viem's list of chains${explorer === undefined ? '' : `; blocks and transactions: ${explorer}`}`,
    `name: ${JSON.stringify(name)}`,
    `chainId: ${chainId}`,
    ...(zks === true ? ['methods: [eth, net, web3, rpc, zks]'] : []),
    '# Public endpoints: enough to try things, not for production. Put your own first, best first:',
    '#   - name: our-node # shown in metrics and on the status page; the URL never is',
    '#     url: http://10.0.0.5:8545',
    'upstreams:',
    upstreams.join(''),
  ].join('\n');
}

/** Whose editors find the schema: where the package lies in the folder of the project; elsewhere its place may change. */
function withSchema(text: string, folder: string): string {
  const schema = relative(resolve(folder), join(packageRoot, 'schemas/network.schema.json'));
  const isNear = !schema.startsWith(`..${sep}..`);
  return text.replace(/^# yaml-language-server:.*\n/, isNear ? `# yaml-language-server: $schema=${schema}\n` : '');
}

/** The slug of a network of that chain. Mistakes in other files are told by `check`. */
function networkWithChainId(folder: string, env: Env, chainId: number): string | undefined {
  try {
    const knownMethods = specs.map(({ name }) => name);
    return loadNetworks({ folder, knownMethods, env }).find((network) => network.chainId === chainId)?.slug;
  } catch (error) {
    if (error instanceof NetworkFilesError) return undefined;
    throw error;
  }
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new NetworkFileError(`${path} is there already, and stays as it is`);
  }
}
