import { isDeepStrictEqual } from 'node:util';
import type { NetworkConfig } from '../network-files/network-config.ts';

/**
 * Networks as they are read anew, with the very objects of before where nothing of a network, or of an upstream of it,
 * has changed: so that whatever was made for such an object goes on. The upstream of another chain is another one.
 */
export function keepUnchanged(previous: readonly NetworkConfig[], loaded: readonly NetworkConfig[]): NetworkConfig[] {
  return loaded.map((network) => {
    const old = previous.find(({ slug }) => slug === network.slug);
    if (old === undefined || isDeepStrictEqual(old, network)) return old ?? network;
    if (old.chainId !== network.chainId) return network;
    const upstreams = network.upstreams.map(
      (upstream) => old.upstreams.find((known) => isDeepStrictEqual(known, upstream)) ?? upstream,
    );
    return { ...network, upstreams };
  });
}
