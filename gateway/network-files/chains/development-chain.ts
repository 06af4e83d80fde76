import type { NetworkConfig } from '../network-config.ts';

/** Of ganache and `geth --dev`, of hardhat and anvil. */
const DEVELOPMENT_CHAINS: readonly number[] = [1337, 31337];

/** Whether a network is a chain of one developer: its state is set, and its blocks are removed, at any moment. */
export function isDevelopmentChain({ chainId, upstreams }: NetworkConfig): boolean {
  return DEVELOPMENT_CHAINS.includes(chainId) || upstreams.some(({ spawn }) => spawn !== undefined);
}
