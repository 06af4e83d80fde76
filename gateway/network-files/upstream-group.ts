import { parseUrl } from '../config/parse-url.ts';
import { formatPath, type Diagnostic, type Path } from './diagnostics.ts';
import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { isStronger, verifyOptions } from './options/verify-option.ts';

/**
 * The domains of hosted providers: all hosts below one are one group, because one operator runs them. Sources: the URLs of
 * schemas/provider-urls.yaml, and the endpoint pages of the providers, November 2026.
 */
const hostedProviders: Readonly<Record<string, readonly string[]>> = {
  Alchemy: ['alchemy.com', 'alchemyapi.io'],
  Allnodes: ['publicnode.com', 'allnodes.com', 'allnodes.me'],
  Ankr: ['ankr.com'],
  BlastAPI: ['blastapi.io'],
  BlockPI: ['blockpi.network'],
  Chainstack: ['chainstack.com', 'p2pify.com'],
  Cloudflare: ['cloudflare-eth.com'],
  Conduit: ['conduit.xyz'],
  dRPC: ['drpc.org', 'drpc.live'],
  Dwellir: ['dwellir.com'],
  Figment: ['figment.io'],
  GetBlock: ['getblock.io'],
  Infura: ['infura.io'],
  Lava: ['lavanet.xyz'],
  LlamaNodes: ['llamarpc.com'],
  Moralis: ['moralis-nodes.com', 'moralis.io'],
  NodeReal: ['nodereal.io'],
  NOWNodes: ['nownodes.io'],
  OnFinality: ['onfinality.io'],
  '1RPC': ['1rpc.io'],
  Pocket: ['pokt.network', 'grove.city', 'nodies.app'],
  QuickNode: ['quiknode.pro', 'quicknode.com', 'quicknode.pro'],
  SubQuery: ['subquery.network'],
  Tatum: ['tatum.io'],
  Tenderly: ['tenderly.co'],
  thirdweb: ['thirdweb.com'],
  'Validation Cloud': ['validationcloud.io'],
  ZAN: ['zan.top'],
};

const providers = new Map(
  Object.entries(hostedProviders).flatMap(([provider, domains]) => domains.map((domain) => [domain, provider])),
);

export type GroupedUpstream = Pick<UpstreamConfig, 'name'> &
  Partial<Pick<UpstreamConfig, 'group' | 'url' | 'websocketUrl'>>;

/** The shown name of a group: `group` of the file, or a hosted provider. Undefined: it has none, because a URL is never shown. */
export function groupName({ group, url, websocketUrl }: Omit<GroupedUpstream, 'name'>): string | undefined {
  return group ?? providerAt(url ?? websocketUrl);
}

/**
 * Identifies the group of an upstream, whose upstreams have one operator: `group` of the file, the hosted provider of its host, or
 * else host and port of its URL. A spawned node is a group of its own.
 */
export function groupOf(upstream: GroupedUpstream): string {
  const name = groupName(upstream);
  if (name !== undefined) return `group ${name}`;
  const url = parsed(upstream.url ?? upstream.websocketUrl);
  if (url === undefined) return `upstream ${upstream.name}`;
  const isPlain = url.protocol === 'http:' || url.protocol === 'ws:';
  return `host ${url.hostname}:${url.port === '' ? (isPlain ? '80' : '443') : url.port}`;
}

/** The upstreams of each group, in the order of the file. */
export function groupsOf<Member extends GroupedUpstream>(upstreams: readonly Member[]): Member[][] {
  const groups = new Map<string, Member[]>();
  for (const upstream of upstreams) {
    const members = groups.get(groupOf(upstream));
    if (members === undefined) groups.set(groupOf(upstream), [upstream]);
    else members.push(upstream);
  }
  return [...groups.values()];
}

/** The groups in words: the names of their upstreams, and that of the group if it has one. */
export function describeGroups(upstreams: readonly GroupedUpstream[]): string[] {
  return groupsOf(upstreams).map((members) => {
    const names = members.map(({ name }) => name).join(' with ');
    const name = groupName(members[0] ?? {});
    return name === undefined ? names : `${names} (${name})`;
  });
}

/** Number of groups below which one that fails or forges blocks leaves no majority. */
const RECOMMENDED_GROUPS = 3;

/** Note about what is missing for levels of `verify` whose proofs rest on several groups; undefined: nothing. */
export function groupsNote({ verify, upstreams }: Pick<NetworkConfig, 'verify' | 'upstreams'>): string | undefined {
  const levels = Object.values(verifyOptions(verify).levels);
  const groups = groupsOf(upstreams).length;
  if (groups >= RECOMMENDED_GROUPS || !levels.some((level) => isStronger(level, 'observe'))) return undefined;
  return `verify: ${groups} ${groups === 1 ? 'group' : 'groups'} of upstreams; with three, one of them may fail or be wrong`;
}

/** Checks that neither `witnesses` nor `verify.agree` needs more groups than the network has. */
export function checkGroups({
  witnesses,
  verify,
  upstreams,
}: Pick<NetworkConfig, 'witnesses' | 'verify' | 'upstreams'>): Diagnostic[] {
  const groups = groupsOf(upstreams).length;
  const given: (readonly [Path, number | undefined])[] = [
    [['witnesses'], witnesses],
    ...Object.entries(verifyOptions(verify).agree).map(([name, count]) => [['verify', 'agree', name], count] as const),
  ];
  return given.flatMap(([path, count]) => {
    if (typeof count !== 'number' || count <= groups) return [];
    const message = `${formatPath(path)} is ${count}: expected at most ${groups}, the number of groups of upstreams; add an upstream of another group, or lower it`;
    return [{ path, message }];
  });
}

function providerAt(text: string | undefined): string | undefined {
  const labels = parsed(text)?.hostname.toLowerCase().split('.') ?? [];
  for (let at = 0; at < labels.length - 1; at++) {
    const provider = providers.get(labels.slice(at).join('.'));
    if (provider !== undefined) return provider;
  }
  return undefined;
}

function parsed(text: string | undefined): URL | undefined {
  return text === undefined ? undefined : parseUrl(text);
}
