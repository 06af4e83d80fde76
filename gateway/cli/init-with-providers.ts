import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { suggest } from '../config/suggest.ts';
import type { Env } from '../network-files/expand-text.ts';
import { providerNames, providers, type ProviderName } from '../network-files/options/providers.generated.ts';
import { providersOf, requiredOptions, type UrlOption } from '../network-files/providers.ts';
import { commandName } from './command-name.ts';
import {
  knownFile,
  NetworkFileError,
  newNetworkPath,
  readChainId,
  requireEmpty,
  writeNew,
  type KnownFile,
  type WrittenFiles,
} from './network-files.ts';

/** File with the values of all variables, beside the folder of network files. */
const SECRETS_FILE = 'gateway.env';
const NO_CHAINS = '--chains: expected chain ids, whole numbers with commas between them: 1,10,8453';

interface PlannedNetwork extends KnownFile {
  readonly chainId: number;
  /** Given providers that serve the chain. */
  readonly served: readonly ProviderName[];
}

/**
 * Creates the folder of network files: a network for each chain, with an upstream of each provider that serves it. Creates a
 * file for the keys too. Writes nothing if one of these is not possible.
 * @param chains  @param names lists with commas, as given on the command line
 * @throws NetworkFileError
 */
export function initWithProviders(folder: string, chains = '', names = ''): WrittenFiles {
  requireEmpty(folder);
  const secrets = join(dirname(folder), SECRETS_FILE);
  if (existsSync(secrets)) throw new NetworkFileError(`${secrets} already exists and is not changed`);
  const given = itemsOf(names).map(toProvider);
  const networks = itemsOf(chains).map((id) => plan(folder, readChainId(id, NO_CHAINS), given));
  if (given.length === 0 || networks.length === 0)
    throw new NetworkFileError('--chains and --provider belong together: --chains 1,10,8453 --provider alchemy,drpc');
  mkdirSync(folder, { recursive: true });
  for (const network of networks) writeNew(join(folder, `${network.slug}.yaml`), textOf(network));
  const variables = [...new Set(networks.flatMap(variablesOf))].sort();
  writeNew(secrets, secretsText(basename(folder), variables), 0o600);
  const leftOut = networks.map((network) => leftOutText(network, given));
  const text =
    `Wrote ${networks.length} networks to ${folder}.\n${leftOut.join('')}` +
    `Write the values of ${variables.length} variables to ${secrets}. Load it with \`set -a; . ${shellPath(secrets)}; set +a\`,\n` +
    `test the files with ${commandName} check, and the upstreams with ${commandName} doctor.\n`;
  const files = networks.map(({ slug }) => join(folder, `${slug}.yaml`));
  return { text, files: [...files, secrets], variables };
}

/**
 * Writes the file of one network with an upstream of each provider that serves it, and adds missing variables to the file
 * for the keys.
 * @param names a list with commas
 * @throws NetworkFileError
 */
export function addWithProviders(
  folder: string,
  env: Env,
  chainId: number,
  names: string,
  slug?: string,
): WrittenFiles {
  const given = itemsOf(names).map(toProvider);
  if (given.length === 0) throw new NetworkFileError('--provider: expected names of providers: alchemy,drpc');
  const network = plan(folder, chainId, given);
  const path = newNetworkPath(folder, env, chainId, network.slug, slug);
  const secrets = join(dirname(folder), SECRETS_FILE);
  const existing = existsSync(secrets) ? readFileSync(secrets, 'utf8') : undefined;
  const all = [...new Set(variablesOf(network))].sort();
  const variables = all.filter((name) => existing === undefined || !new RegExp(`^${name}=`, 'm').test(existing));
  writeNew(path, textOf(network));
  if (existing === undefined) writeNew(secrets, secretsText(basename(folder), variables), 0o600);
  else appendFileSync(secrets, variables.map((name) => `${name}=\n`).join(''));
  const advice =
    variables.length === 0
      ? `${secrets} has all its variables already.`
      : `Write the values of ${variables.join(', ')} to ${secrets}, and start the gateway with them.`;
  const text = `Wrote ${path}.\n${leftOutText(network, given)}${advice}\nTest it with ${commandName} doctor.\n`;
  return { text, files: [path, secrets], variables };
}

function leftOutText({ slug, chainId, served }: PlannedNetwork, given: readonly ProviderName[]): string {
  return given
    .filter((name) => !served.includes(name))
    .map((name) => `${name} does not serve chain ${chainId}: it is left out of ${slug}.yaml.\n`)
    .join('');
}

function itemsOf(list: string): string[] {
  const items = list.split(',').map((item) => item.trim());
  return [...new Set(items)].filter((item) => item !== '');
}

function toProvider(text: string): ProviderName {
  const found = providerNames.find((name) => name === text);
  if (found !== undefined) return found;
  const near = suggest(text, providerNames);
  throw new NetworkFileError(`--provider: ${text} is not known${near}; known are ${providerNames.join(', ')}`);
}

function plan(folder: string, chainId: number, given: readonly ProviderName[]): PlannedNetwork {
  const file = knownFile(folder, chainId);
  const all = providersOf(chainId);
  const served = given.filter((name) => all.includes(name));
  if (served.length > 0 || given.length === 0) return { ...file, chainId, served };
  const others = all.length === 0 ? 'no known provider does' : `these do: ${all.join(', ')}`;
  throw new NetworkFileError(`${given.join(', ')}: none serves chain ${chainId}; ${others}`);
}

function textOf({ head, chainId, served }: PlannedNetwork): string {
  const upstreams = served.map((name) => {
    const options = requiredOptions(name).map((option) => `, ${option}: '\${${variableOf(name, option, chainId)}}'`);
    return `  - { provider: ${name}${options.join('')} }\n`;
  });
  return `${head}# Best first. Put a node of your own before them:\n#   - { name: our-node, url: http://10.0.0.5:8545 }\nupstreams:\n${upstreams.join('')}`;
}

function variablesOf({ chainId, served }: PlannedNetwork): string[] {
  return served.flatMap((name) => requiredOptions(name).map((option) => variableOf(name, option, chainId)));
}

/** `ALCHEMY_KEY`; `CHAINSTACK_KEY_1` if each network needs its own. */
function variableOf(name: ProviderName, option: UrlOption, chainId: number): string {
  const perChain = option === 'key' && providers[name].keyPerChain === true ? `_${chainId}` : '';
  return `${name}_${option}`.toUpperCase() + perChain;
}

function secretsText(folder: string, variables: readonly string[]): string {
  const lines = variables.map((name) => `${name}=\n`);
  return `# The keys for the upstreams in ${folder}/. Keep this file out of version control.\n${lines.join('')}`;
}

/** The shell searches PATH for a name without a slash. */
function shellPath(path: string): string {
  return path.includes('/') ? path : `./${path}`;
}
