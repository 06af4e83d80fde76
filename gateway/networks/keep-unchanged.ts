import { isDeepStrictEqual } from 'node:util';
import type { NetworkConfig } from '../network-files/network-config.ts';

/** Returns the loaded configurations, with the previous object in place of each equal one: such a network stays open. */
export function keepUnchanged(previous: readonly NetworkConfig[], loaded: readonly NetworkConfig[]): NetworkConfig[] {
  return loaded.map((network) => previous.find((existing) => isDeepStrictEqual(existing, network)) ?? network);
}
