import type { NetworkConfig } from '../network-config.ts';

/** Chain ids: 1337 is the default of ganache and `geth --dev`, 31337 of hardhat and anvil. */
const DEVELOPMENT_CHAINS: readonly number[] = [1337, 31337];

/** Whether the network is a development chain, whose state can be set and whose blocks can be removed at any time. */
export function isDevelopmentChain({ chainId, upstreams }: NetworkConfig): boolean {
  return DEVELOPMENT_CHAINS.includes(chainId) || upstreams.some(({ spawn }) => spawn !== undefined);
}
