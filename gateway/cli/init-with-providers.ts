import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { suggest } from '../config/suggest.ts';
import type { Env } from '../network-files/expand-text.ts';
import { providerNames, providers, type ProviderName } from '../network-files/options/providers.generated.ts';
import { providersOf, requiredOptions, type UrlOption } from '../network-files/providers.ts';
import { commandName } from './command-name.ts';
import { CommandError } from './exit-codes.ts';
import {
  knownFile,
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
 * @throws CommandError
 */
export function initWithProviders(folder: string, chains = '', names = ''): WrittenFiles {
  requireEmpty(folder);
  const secrets = join(dirname(folder), SECRETS_FILE);
  if (existsSync(secrets)) throw new CommandError(`${secrets} already exists and is not changed`);
  const given = itemsOf(names).map(toProvider);
  const networks = itemsOf(chains).map((id) => plan(folder, readChainId(id, NO_CHAINS), given));
  if (given.length === 0 || networks.length === 0)
    throw new CommandError('--chains and --provider belong together: --chains 1,10,8453 --provider alchemy,drpc');
  mkdirSync(folder, { recursive: true });
  const paths = networks.map(({ slug }) => join(folder, `${slug}.yaml`));
  const { files, variables, leftOut } = write(folder, paths, networks, given);
  const text =
    `Wrote ${networks.length} networks to ${folder}.\n${leftOut}` +
    `Write the values of ${variables.length} variables to ${secrets}. Load it with \`set -a; . ${shellPath(secrets)}; set +a\`,\n` +
    `test the files with ${commandName} check, and the upstreams with ${commandName} doctor.\n`;
  return { text, files, variables };
}

/**
 * Writes the file of one network with an upstream of each provider that serves it, and adds missing variables to the file
 * for the keys.
 * @param names a list with commas
 * @throws CommandError
 */
export function addWithProviders(
  folder: string,
  env: Env,
  chainId: number,
  names: string,
  slug?: string,
): WrittenFiles {
  const given = itemsOf(names).map(toProvider);
  if (given.length === 0) throw new CommandError('--provider: expected names of providers: alchemy,drpc');
  const network = plan(folder, chainId, given);
  const path = newNetworkPath(folder, env, chainId, network.slug, slug);
  const { files, variables, leftOut } = write(folder, [path], [network], given);
  const advice =
    variables.length === 0
      ? `${files[1]} has all its variables already.`
      : `Write the values of ${variables.join(', ')} to ${files[1]}, and start the gateway with them.`;
  return { text: `Wrote ${path}.\n${leftOut}${advice}\nTest it with ${commandName} doctor.\n`, files, variables };
}

/** Writes the files of networks, and adds missing variables to the file for the keys. @returns its path is the last one */
function write(
  folder: string,
  paths: readonly string[],
  networks: readonly PlannedNetwork[],
  given: readonly ProviderName[],
): { files: readonly string[]; variables: readonly string[]; leftOut: string } {
  const secrets = join(dirname(folder), SECRETS_FILE);
  const existing = existsSync(secrets) ? readFileSync(secrets, 'utf8') : undefined;
  const needed = [...new Set(networks.flatMap(variablesOf))].sort();
  const variables = needed.filter((name) => !new RegExp(`^${name}=`, 'm').test(existing ?? ''));
  for (const [index, network] of networks.entries()) writeNew(paths[index] as string, textOf(network));
  const lines = variables.map((name) => `${name}=\n`).join('');
  if (existing !== undefined) appendFileSync(secrets, lines);
  else {
    const head = `# The keys for the upstreams in ${basename(folder)}/. Keep this file out of version control.\n`;
    writeNew(secrets, head + lines, 0o600);
  }
  const leftOut = networks.flatMap(({ slug, chainId, served }) =>
    given
      .filter((name) => !served.includes(name))
      .map((name) => `${name} does not serve chain ${chainId}: it is left out of ${slug}.yaml.\n`),
  );
  return { files: [...paths, secrets], variables, leftOut: leftOut.join('') };
}

function itemsOf(list: string): string[] {
  const items = list.split(',').map((item) => item.trim());
  return [...new Set(items)].filter((item) => item !== '');
}

function toProvider(text: string): ProviderName {
  const found = providerNames.find((name) => name === text);
  if (found !== undefined) return found;
  const near = suggest(text, providerNames);
  throw new CommandError(`--provider: ${text} is not known${near}; known are ${providerNames.join(', ')}`);
}

function plan(folder: string, chainId: number, given: readonly ProviderName[]): PlannedNetwork {
  const file = knownFile(folder, chainId);
  const all = providersOf(chainId);
  const served = given.filter((name) => all.includes(name));
  if (served.length > 0 || given.length === 0) return { ...file, chainId, served };
  const others = all.length === 0 ? 'no known provider does' : `these do: ${all.join(', ')}`;
  throw new CommandError(`${given.join(', ')}: none serves chain ${chainId}; ${others}`);
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

/** The shell searches PATH for a name without a slash. */
function shellPath(path: string): string {
  return path.includes('/') ? path : `./${path}`;
}
