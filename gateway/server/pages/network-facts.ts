import { knownChain } from '../../network-files/chains/known-chain.ts';
import type { NetworkConfig } from '../../network-files/network-config.ts';

/** What a client needs to connect to a network; wallets require the currency to add a chain. */
export interface NetworkFacts {
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly explorer: string | undefined;
  readonly baseUrls: readonly string[];
}

export function networkFacts({ slug, name, chainId, baseUrls }: NetworkConfig): NetworkFacts {
  const chain = knownChain(chainId);
  const currency = chain?.currency ?? { name: 'Ether', symbol: 'ETH', decimals: 18 };
  return { slug, name, chainId, currency, explorer: chain?.explorer, baseUrls };
}
