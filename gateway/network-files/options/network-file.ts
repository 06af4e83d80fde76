import { networkOptions } from './network-options.ts';
import type { OptionSchema } from './option.ts';

/** A network file as a whole. */
export const networkFile = {
  title: 'map with name, chainId and upstreams',
  description: "One file per network: networks/<slug>.yaml. The slug is the file's name.",
  type: 'object',
  properties: networkOptions,
} as const satisfies OptionSchema;
