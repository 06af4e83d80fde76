import { version } from '../config/package.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';

/** The results, as JSON text, of the methods with `answer: local` in `schemas/methods`. */
export function localResults({ chainId }: Pick<NetworkConfig, 'chainId'>): ReadonlyMap<string, string> {
  return new Map([
    ['eth_chainId', JSON.stringify(`0x${chainId.toString(16)}`)],
    ['net_version', JSON.stringify(String(chainId))],
    ['net_listening', 'true'],
    ['web3_clientVersion', JSON.stringify(`Gatehouse/v${version}`)],
    ['eth_accounts', '[]'],
  ]);
}
