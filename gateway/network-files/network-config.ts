import type { Diagnostic } from './diagnostics.ts';
import { networkOptions, upstreamOptions } from './options/network-options.ts';
import type { Option, RowsReplacing, ValuesOf } from './options/option.ts';
import type { CountName } from './options/units-option.ts';

/** Wildcards of methods without a schema, without the exceptions. */
export interface OpenMethods {
  readonly wildcards: readonly string[];
  /** Methods and wildcards. */
  readonly except: readonly string[];
}

/**
 * The validated configuration of a network, with defaults and with variables expanded. `methods` are the names of the
 * methods that the network serves.
 */
export interface NetworkConfig extends ValuesOf<typeof networkOptions> {
  /** The file's name without `.yaml`. */
  readonly slug: string;
  /** Methods that the network serves without naming them. */
  readonly openMethods: OpenMethods;
  /** Methods that the node serves because the network is for development: some of `methods`, and wildcards (`evm_*`). */
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

/** Identity, equal while a reload retains the network's heads, subscriptions and upstreams. */
export function chainIdentity(network: ChainConfig): string {
  return JSON.stringify([network.slug, valuesThatReplace('chain', networkOptions, network)]);
}

/** Identity, equal while a reload retains the upstream with its connections and statistics. It may contain secrets. */
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

/** Chain ids: 1337 is the default of ganache and `geth --dev`, 31337 of hardhat and anvil. */
const DEVELOPMENT_CHAINS: readonly number[] = [1337, 31337];

type DevelopmentOptions = Pick<NetworkConfig, 'development' | 'upstreams'>;

/** Whether the network is a development chain, whose state can be set and whose blocks can be removed at any time. */
export function isDevelopmentChain({
  chainId,
  ...options
}: DevelopmentOptions & { readonly chainId: number }): boolean {
  return DEVELOPMENT_CHAINS.includes(chainId) || isDevelopmentNetwork(options);
}

/**
 * Whether the file says that the network is for development, so that it may serve the accounts of its node. A chain id
 * does not say it: private networks in production have those of development chains.
 */
export function isDevelopmentNetwork({ development, upstreams }: DevelopmentOptions): boolean {
  return development || upstreams.some(({ spawn }) => spawn !== undefined);
}

/** Facts about methods that the network files do not have. `spec/` provides them. */
export interface MethodFacts {
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Whether no method of a wildcard may be served unless it is named singly. */
  readonly isNeverOpened?: ((wildcard: string) => boolean) | undefined;
}

/** Options for loading the network files. */
export interface LoadOptions extends MethodFacts {
  /** Folder of network files. */
  readonly folder: string;
  /** Methods that development networks serve beside the methods of their files; undefined in production. */
  readonly developmentMethods?: readonly string[] | undefined;
  /** Counts that formulas of request units may have of the parameters of a method. Undefined: all. */
  readonly countsOf?: ((method: string) => readonly CountName[]) | undefined;
  /** Whether calls of the method are sent to upstreams. Undefined: not known, so it is not checked that one gets them. */
  readonly needsUpstream?: ((method: string) => boolean) | undefined;
  /** Whether a call of the method sends a transaction. */
  readonly sendsTransactions?: ((method: string) => boolean) | undefined;
  /** The method that polls heads: at least one upstream must permit it. */
  readonly headMethod?: string | undefined;
  /** The time of a call, with which times of network files are compared. Undefined: they are not compared. */
  readonly callTimeoutMs?: number | undefined;
  /** Checks `public` beyond its schema. Undefined: it is not checked. */
  readonly checkPublic?: ((options: PublicOptions) => readonly Diagnostic[]) | undefined;
  /** Values of `${NAME}` in URLs and headers. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** State of the active configuration; contains no secrets. */
export interface Configuration {
  /** Digest of the active files: equal on gateways with equal files. */
  readonly digest: string;
  readonly loadedAt: string;
  /** Rejected files, set while the current ones are rejected; null while they are active. */
  readonly refused: RejectedFiles | null;
}

interface RejectedFiles {
  readonly at: string;
  readonly digest: string;
  /** Diagnostics with their messages. These contain no values except base URLs and names of variables. */
  readonly mistakes: readonly string[];
  /** Positions only, for public pages: `base.yaml:7:5`. */
  readonly places: readonly string[];
}
