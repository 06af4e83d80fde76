import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { findAnvil } from '../config/find-anvil.ts';
import { packageRoot } from '../config/package.ts';
import type { Env } from '../network-files/expand-text.ts';
import { knownChain, type KnownChain } from '../network-files/known-chain.ts';
import { isNetwork, loadNetworks, NetworkFilesError } from '../network-files/load-networks.ts';
import { isSlug, reservedSlugs } from '../network-files/options/check-texts.ts';
import { networkOptions } from '../network-files/options/network-options.ts';
import { methodFacts } from '../spec/method-facts.ts';
import { triedMethod } from './banner.ts';
import { commandName } from './command-name.ts';
import { CommandError } from './exit-codes.ts';

/** Files that a command wrote: as text for the operator, and as data for `--json`. */
export interface WrittenFiles {
  readonly text: string;
  /** Paths. */
  readonly files: readonly string[];
  /** Environment variables that the files need, and that have no value yet. */
  readonly variables: readonly string[];
}

const shippedFolder = join(packageRoot, 'networks');
const shippedNames = (): string[] => readdirSync(shippedFolder).filter((name) => name.endsWith('.yaml'));
const shippedText = (name: string): string => readFileSync(join(shippedFolder, name), 'utf8');

/** More public endpoints rarely help: each is one more attempt if the others fail. */
const MAX_ENDPOINTS = 3;
const CHAIN_ID_TIMEOUT_MS = 10_000;
const PUBLIC_NOTE = '# Public endpoints, for tests only, not for production. Put your own first, best first:\n';
const SCHEMA_LINE = '# yaml-language-server: $schema=../schemas/network.schema.json\n';

/**
 * Creates the folder of network files, with the files that Gatehouse ships.
 * @throws CommandError if the folder exists and is not empty
 */
export function initNetworks(folder: string): WrittenFiles {
  requireEmpty(folder);
  mkdirSync(folder, { recursive: true });
  // Without anvil each start would skip the local network, with a message.
  const copied = shippedNames().filter((name) => name !== 'local.yaml' || findAnvil() !== undefined);
  for (const name of copied) writeNew(join(folder, name), withSchema(shippedText(name), folder));
  const text =
    `Wrote ${copied.length} networks to ${folder}. Their upstreams are public endpoints: put your own first, and remove\n` +
    `the files that you do not need. Test them with ${commandName} doctor, then run ${commandName} start.\n`;
  return { text, files: copied.map((name) => join(folder, name)), variables: [] };
}

/**
 * Writes the file of one network: the shipped file if there is one, else a file made from the list of known chains.
 * @throws CommandError
 */
export function addNetwork(folder: string, env: Env, given: string, slug?: string): WrittenFiles {
  const chainId = readChainId(given);
  const file = knownFile(folder, chainId);
  const path = newNetworkPath(folder, env, chainId, file.slug, slug);
  writeNew(path, file.head + file.upstreams);
  const text =
    `Wrote ${path}. Its upstreams are public endpoints: put your own node or provider first.\n` +
    `Test it with ${commandName} doctor.\n`;
  return { text, files: [path], variables: [] };
}

/** Facts about a network that an operator gives. */
export interface GivenNetwork {
  /** URLs of its nodes, best first, with commas. */
  readonly url: string;
  readonly name?: string;
  readonly currency?: string;
  readonly explorer?: string;
  readonly slug?: string;
}

/**
 * Writes the file of any network, known or not, after each node has responded with the chain id.
 * @throws CommandError (rejects with it), which quotes no URL: it may have a credential
 */
export async function addGivenNetwork(
  folder: string,
  env: Env,
  chainId: number,
  { url, currency, explorer, slug, name = knownChain(chainId)?.name }: GivenNetwork,
): Promise<WrittenFiles> {
  if (name === undefined)
    throw new CommandError(`chain ${chainId} is not in the list of known chains: set --name to its name`);
  for (const [option, value] of Object.entries({ currency, explorer })) {
    const { title, pattern } = networkOptions[option as 'currency' | 'explorer'];
    if (value !== undefined && !new RegExp(pattern).test(value))
      throw new CommandError(`--${option}: expected ${title}`);
  }
  const urls = url.split(',').map((text) => text.trim());
  for (const [index, one] of urls.entries()) {
    const found = await chainIdAt(one);
    if (found === chainId) continue;
    const problem =
      found === undefined ? 'does not respond to eth_chainId' : `has the chain id ${found}, not ${chainId}`;
    throw new CommandError(`--url: node ${index + 1} ${problem}`);
  }
  const path = newNetworkPath(folder, env, chainId, slugOf(name, chainId), slug);
  const lines = [
    SCHEMA_LINE,
    ...factLines({ ...knownChain(chainId), name }, chainId),
    ...Object.entries({ currency, explorer }).flatMap(([option, value]) =>
      value === undefined ? [] : [`${option}: ${value}\n`],
    ),
    'upstreams:\n',
    ...urls.map((one, index) => `  - name: node-${index + 1}\n    url: ${JSON.stringify(one)}\n`),
  ];
  writeNew(path, withSchema(lines.join(''), folder));
  return { text: `Wrote ${path}.\nTest it with ${commandName} doctor.\n`, files: [path], variables: [] };
}

/** @returns undefined: no node responds there */
async function chainIdAt(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: triedMethod, params: [] }),
      signal: AbortSignal.timeout(CHAIN_ID_TIMEOUT_MS),
    });
    const chainId = Number(((await response.json()) as { readonly result?: unknown }).result);
    return Number.isSafeInteger(chainId) ? chainId : undefined;
  } catch {
    return undefined;
  }
}

/** @throws CommandError */
export function readChainId(text: string, problem = 'expected a chain id, a whole number: 8453 for Base'): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text);
  throw new CommandError(problem);
}

/**
 * The path for the file of a network that is added.
 * @param slug given by the operator
 * @throws CommandError if there is no folder, the slug is not possible, or a file has the chain
 */
export function newNetworkPath(
  folder: string,
  env: Env,
  chainId: number,
  defaultSlug: string,
  slug: string | undefined,
): string {
  if (!existsSync(folder)) throw new CommandError(`there is no folder ${folder}: ${commandName} init creates it`);
  const name = slug ?? defaultSlug;
  if (!isSlug(name) || reservedSlugs.has(name) || !isNetwork(name)) {
    throw new CommandError(
      `${name} cannot be a slug: expected lower-case letters, digits and hyphens, and no path or file that Gatehouse uses; set --slug`,
    );
  }
  const existing = slug === undefined ? networkWithChainId(folder, env, chainId) : undefined;
  if (existing !== undefined) {
    throw new CommandError(
      `${join(folder, `${existing}.yaml`)} already has chain ${chainId}; to add a second one, set --slug`,
    );
  }
  return join(folder, `${name}.yaml`);
}

/** A network file up to its upstreams, and the rest. */
export interface KnownFile {
  readonly slug: string;
  readonly head: string;
  readonly upstreams: string;
}

/**
 * The shipped file of a chain if there is one, else one made from the list of known chains.
 * @param folder where the file will be
 * @throws CommandError if the chain is not known
 */
export function knownFile(folder: string, chainId: number): KnownFile {
  const dividedAt = (text: string, start: string): Pick<KnownFile, 'head' | 'upstreams'> => {
    const at = text.indexOf(start);
    return { head: withSchema(text.slice(0, at), folder), upstreams: text.slice(at) };
  };
  const shipped = shippedNames().find((name) => new RegExp(`^chainId: ${chainId}$`, 'm').test(shippedText(name)));
  if (shipped !== undefined) return { slug: shipped.slice(0, -5), ...dividedAt(shippedText(shipped), 'upstreams:') };
  const chain = knownChain(chainId);
  if (chain !== undefined)
    return { slug: slugOf(chain.name, chainId), ...dividedAt(networkFileOf(chain, chainId), PUBLIC_NOTE) };
  const problem = `chain ${chainId} is not in the list of known chains`;
  throw new CommandError(`${problem}: set --url to your node and --name to its name`);
}

function slugOf(name: string, chainId: number): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = words.join('-').slice(0, 63).replace(/-$/, '');
  return isSlug(slug) && !reservedSlugs.has(slug) ? slug : `chain-${chainId}`;
}

/** Makes a network file from the data of a known chain. */
export function networkFileOf(chain: KnownChain, chainId: number): string {
  const upstreams = chain.rpc.slice(0, MAX_ENDPOINTS).map((url, index) => {
    return `  - name: public${index === 0 ? '' : `-${index + 1}`}\n    url: ${JSON.stringify(url)}\n`;
  });
  const made = `# Made from viem's list of chains`;
  return [
    SCHEMA_LINE,
    chain.explorer === undefined ? `${made}\n` : `${made}; blocks and transactions: ${chain.explorer}\n`,
    ...factLines(chain, chainId),
    PUBLIC_NOTE,
    '#   - name: our-node # shown in metrics and on the status page; the URL never is\n',
    '#     url: http://10.0.0.5:8545\n',
    'upstreams:\n',
    ...upstreams,
  ].join('');
}

function factLines({ name, zks }: Pick<KnownChain, 'name' | 'zks'>, chainId: number): string[] {
  return [
    `name: ${JSON.stringify(name)}\n`,
    `chainId: ${chainId}\n`,
    ...(zks === true ? ['methods: [eth, net, web3, rpc, zks]\n'] : []),
  ];
}

/** Sets the schema comment for editors if the package is in the project's folder; otherwise removes it, since paths may change. */
function withSchema(text: string, folder: string): string {
  const schema = relative(resolve(folder), join(packageRoot, 'schemas/network.schema.json'));
  const isNear = !schema.startsWith(`..${sep}..`);
  return text.replace(/^# yaml-language-server:.*\n/, isNear ? `# yaml-language-server: $schema=${schema}\n` : '');
}

/** The slug of an existing network with this chain id. Invalid files are ignored: `gatehouse check` reports them. */
function networkWithChainId(folder: string, env: Env, chainId: number): string | undefined {
  try {
    return loadNetworks({ folder, ...methodFacts, env }).find((network) => network.chainId === chainId)?.slug;
  } catch (error) {
    if (error instanceof NetworkFilesError) return undefined;
    throw error;
  }
}

/** @throws CommandError */
export function requireEmpty(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  throw new CommandError(`${folder} already exists: to add a network, ${commandName} networks add <chainId>`);
}

/** @throws CommandError if the file exists */
export function writeNew(path: string, text: string, mode = 0o666): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new CommandError(`${path} already exists and is not changed`);
  }
}
