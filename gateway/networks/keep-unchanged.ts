import { isDeepStrictEqual } from 'node:util';
import type { NetworkConfig } from '../network-files/network-config.ts';

/**
 * Returns the loaded configurations, with the previous object in place of each equal network or upstream. State is found by
 * these objects, so it survives the reload. A network with another chain id shares no upstream with its previous one.
 */
export function keepUnchanged(previous: readonly NetworkConfig[], loaded: readonly NetworkConfig[]): NetworkConfig[] {
  return loaded.map((network) => {
    const existing = previous.find(({ slug }) => slug === network.slug);
    if (existing === undefined || isDeepStrictEqual(existing, network)) return existing ?? network;
    if (existing.chainId !== network.chainId) return network;
    const upstreams = network.upstreams.map(
      (upstream) => existing.upstreams.find((candidate) => isDeepStrictEqual(candidate, upstream)) ?? upstream,
    );
    return { ...network, upstreams };
  });
}
