import { methodNames, methodPattern } from './method-pattern.ts';
import type { OptionSchema } from './option.ts';

const patterns = { title: 'list of methods and wildcards', type: 'array', minItems: 1, items: methodPattern } as const;

/** The methods that a network serves. */
export const networkMethods = {
  title: 'list of namespaces and methods',
  description:
    'Methods that the network serves: namespaces (eth) or single methods (zks_estimateFee); a minus removes one (-eth_getStorageAt). Methods without a schema by full name (debug_getRawBlock), or as a wildcard (debug_*).',
  type: 'array',
  minItems: 1,
  default: ['eth', 'net', 'web3', 'rpc'],
  items: {
    title: 'namespace, method or wildcard, a minus before it to take it away',
    type: 'string',
    pattern: '^-?[a-zA-Z0-9_.]+\\*?$',
  },
} as const satisfies OptionSchema;

/** The upstreams that may get a method of a network. */
export const route = {
  title: 'map of methods to lists of upstreams',
  description:
    'The only upstreams for a method or wildcard: `eth_sendRawTransaction: [private-relay]`. Binding: no other upstream ever gets the call. The name counts, or else the longest wildcard.',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: {
    title: 'list of names of upstreams',
    type: 'array',
    minItems: 1,
    items: { title: 'name of an upstream', type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$' },
  },
  default: {},
} as const satisfies OptionSchema;

/** The methods that one upstream may get. */
export const upstreamMethods = {
  title: 'map with allow, deny or both',
  description:
    'Methods for which the upstream is used. It gets no other call and no other request of the gateway, such as head polls, except for eth_chainId.',
  type: 'object',
  minProperties: 1,
  properties: {
    allow: { ...patterns, description: 'Only these: `[eth_*, debug_traceTransaction]`.' },
    deny: { ...patterns, description: 'Not these, even if `allow` has them: `[eth_getLogs, trace_*]`.' },
  },
} as const satisfies OptionSchema;
