import { networkOptions, upstreamOptions } from './options/network-options.ts';
import type { Option, RowsReplacing, ValuesOf } from './options/option.ts';
import type { OpenMethods } from './select-methods.ts';

/**
 * The validated configuration of a network, with defaults and with variables expanded. `methods` are the names of the
 * methods that the network serves.
 */
export interface NetworkConfig extends ValuesOf<typeof networkOptions> {
  /** The file's name without `.yaml`. */
  readonly slug: string;
  /** Methods that the network serves without naming them. */
  readonly openMethods: OpenMethods;
  /** Served by the node because the network is for development: some of `methods`, and wildcards (`evm_*`). */
  readonly developmentMethods: readonly string[];
}

/** The options of a network whose change replaces its heads, subscriptions and upstreams: what these may depend on. */
export type ChainConfig = Pick<NetworkConfig, 'slug'> & ValuesOf<RowsReplacing<'chain', typeof networkOptions>>;

/** The other options of a network: a change rebuilds routing, caches and methods only. */
export type ReplaceableConfig = ValuesOf<RowsReplacing<'network', typeof networkOptions>>;

/** Permissions and limits of callers without a key. */
export type PublicOptions = NonNullable<NetworkConfig['public']>;

export type UpstreamConfig = NetworkConfig['upstreams'][number];

/** The options of an upstream whose change replaces it. Read once, when it opens. */
export type FixedUpstreamOptions = ValuesOf<RowsReplacing<'upstream', typeof upstreamOptions>>;

/** The options of an upstream whose change replaces nothing. Read at each use. */
export type LiveUpstreamOptions = ValuesOf<RowsReplacing<'nothing', typeof upstreamOptions>>;

/** Limits on the use of an upstream. A missing limit means unlimited. */
export type UpstreamLimitsConfig = NonNullable<UpstreamConfig['limits']>;

export type Balance = NetworkConfig['balance'];

/** Equal while a reload retains the network's heads, subscriptions and upstreams. */
export function chainIdentity(network: ChainConfig): string {
  return JSON.stringify([network.slug, valuesThatReplace('chain', networkOptions, network)]);
}

/** Equal while a reload retains the upstream with its connections and statistics. It may contain secrets. */
export function upstreamIdentity(network: ChainConfig, upstream: FixedUpstreamOptions): string {
  return JSON.stringify([chainIdentity(network), valuesThatReplace('upstream', upstreamOptions, upstream)]);
}

function valuesThatReplace(
  replaced: string,
  options: Readonly<Record<string, Option<string>>>,
  values: object,
): unknown[] {
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.entries(options).flatMap(([name, { replaces }]) =>
    replaces === replaced ? [name, given.get(name)] : [],
  );
}
