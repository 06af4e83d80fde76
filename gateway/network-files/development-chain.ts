import type { NetworkConfig } from './network-config.ts';

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
