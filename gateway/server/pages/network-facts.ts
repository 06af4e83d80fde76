import { knownChain } from '../../network-files/known-chain.ts';
import type { Network } from '../../call/call.ts';
import type { Drain } from '../../drains/drains.ts';
import type { NetworkConfig, PublicOptions, ReplaceableConfig } from '../../network-files/network-config.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { UpstreamCondition } from '../../upstreams/upstream-status.ts';

/** Facts that a client needs to connect to a network; wallets require the currency to add a chain. */
export interface NetworkFacts {
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly explorer: string | undefined;
  readonly baseUrls: readonly string[];
  /** Calls without a key are served, with these limits of each client address. */
  readonly public?: Pick<PublicOptions, 'rate' | 'daily'>;
}

/** Wallets accept native currencies of 18 decimals only. */
const DECIMALS = 18;

export function networkFacts(config: NetworkConfig): NetworkFacts {
  const { slug, name, chainId, baseUrls, public: options } = config;
  const { currency: symbol, explorer }: ReplaceableConfig = config;
  const chain = knownChain(chainId);
  const known = chain?.currency ?? { name: 'Ether', symbol: 'ETH', decimals: DECIMALS };
  const currency = symbol === undefined ? known : { name: symbol, symbol, decimals: DECIMALS };
  return {
    slug,
    name,
    chainId,
    currency,
    explorer: explorer ?? chain?.explorer,
    baseUrls,
    ...(options && { public: limitsOf(options) }),
  };
}

function limitsOf({ rate, daily }: PublicOptions): NonNullable<NetworkFacts['public']> {
  return { ...(rate !== undefined && { rate }), ...(daily !== undefined && { daily }) };
}

/** The state of an upstream, for operators. */
export interface UpstreamFacts {
  readonly network: string;
  readonly upstream: string;
  readonly state: UpstreamCondition['state'];
  /** Reason of trouble, in words; undefined: there is none. */
  readonly reason: string | undefined;
  readonly drain: Omit<Drain, 'network' | 'upstream'> | undefined;
}

export function upstreamFacts(
  { config }: Pick<Network, 'config'>,
  conditions: ReadonlyMap<Upstream, UpstreamCondition>,
): UpstreamFacts[] {
  return [...conditions].map(([{ name, drain }, { state, reason }]) => {
    const shown = drain && { at: drain.at, by: drain.by, ...(drain.until !== undefined && { until: drain.until }) };
    return { network: config.slug, upstream: name, state, reason, drain: shown };
  });
}
