import { checkBaseUrl } from './base-url.ts';
import { headers, maxResponseBytes, proxyUrl, tls, url, websocketUrl } from './connection-options.ts';
import { hedge, networkFailsafe, upstreamFailsafe } from './failsafe-option.ts';
import { networkMethods, route, upstreamMethods } from './method-options.ts';
import type { NetworkOption, UpstreamOption } from './option.ts';
import { providerOptions } from './provider-options.ts';
import { publicCallers } from './public-option.ts';
import { privateTransactions, transactions } from './transaction-options.ts';
import { unitsMap } from './units-option.ts';
import { verify, witnesses } from './verify-option.ts';
import {
  balance,
  batch,
  group,
  priority,
  probe,
  timeoutMs,
  upstreamAudit,
  upstreamLimits,
  weight,
} from './traffic-options.ts';

/**
 * Options of an upstream. Everything about an option is in its row: the type of `UpstreamConfig`, reading, JSON Schema,
 * diagnostics, reload and docs/networks.md are made from it. Code reads it from `FixedUpstreamOptions` or `LiveUpstreamOptions`.
 */
export const upstreamOptions = {
  name: {
    title: 'text of 1 to 40 letters, digits, dots, hyphens and underscores',
    description: 'Name in metrics, logs and pages; the URL is never shown. With provider: that name by default.',
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$',
    isRequired: 'by other options',
    replaces: 'upstream',
  },
  url: { ...url, replaces: 'upstream' },
  websocketUrl: { ...websocketUrl, replaces: 'upstream' },
  headers: { ...headers, replaces: 'upstream' },
  tls: { ...tls, replaces: 'upstream' },
  proxyUrl: { ...proxyUrl, replaces: 'upstream' },
  maxResponseBytes: { ...maxResponseBytes, replaces: 'upstream' },
  timeoutMs: { ...timeoutMs, replaces: 'nothing' },
  failsafe: { ...upstreamFailsafe, replaces: 'nothing' },
  priority: { ...priority, replaces: 'nothing' },
  weight: { ...weight, replaces: 'nothing' },
  group: { ...group, replaces: 'nothing' },
  archive: {
    title: 'true or false',
    description: 'The upstream has the state of every block: calls for old state use such upstreams first.',
    type: 'boolean',
    default: false,
    replaces: 'upstream',
  },
  batch: { ...batch, replaces: 'upstream' },
  limits: { ...upstreamLimits, replaces: 'upstream' },
  methods: { ...upstreamMethods, replaces: 'nothing' },
  probe: { ...probe, replaces: 'nothing' },
  audit: { ...upstreamAudit, replaces: 'nothing' },
  spawn: {
    title: 'anvil',
    description: 'Instead of url: a local development chain that starts and stops with the gateway; not in production.',
    const: 'anvil',
    replaces: 'upstream',
  },
} as const satisfies Readonly<Record<string, UpstreamOption>>;

const positiveInteger = { title: 'whole number from 1', type: 'integer', minimum: 1 } as const;

/** Options of a network, as `upstreamOptions`. Code reads them from `ChainConfig` or `ReplaceableConfig`. */
export const networkOptions = {
  name: {
    title: 'text of 1 to 80 characters',
    description: 'Display name of the network.',
    type: 'string',
    minLength: 1,
    maxLength: 80,
    isRequired: true,
    replaces: 'network',
  },
  chainId: {
    title: 'whole number from 1 to 9007199254740991',
    description: 'An upstream is used only if its eth_chainId, checked before its first use, is this number.',
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    isRequired: true,
    replaces: 'chain',
  },
  development: {
    title: 'true or false',
    description:
      'A development network: `anvil_*`, `evm_*`, `hardhat_*`, `debug_*`, `trace_*`, `txpool_*`, `ots_*`, the accounts of its node, `eth_sendTransaction` and `eth_sign*` are served too, except in production. Always true with spawn.',
    type: 'boolean',
    default: false,
    replaces: 'chain',
  },
  baseUrls: {
    title: 'list of base URLs',
    description:
      'Base URLs of the network, in addition to http://<gateway>/<slug>, which always works. Matched by host, by port if it is given, and by path.',
    type: 'array',
    uniqueItems: true,
    default: [],
    items: {
      title: 'http or https URL without query',
      type: 'string',
      pattern: '^https?://[^/?#\\s@]+(/[^?#\\s]*)?$',
    },
    check: (baseUrl = '') => checkBaseUrl(baseUrl),
    replaces: 'network',
  },
  privateNetworkOrigins: {
    title: 'list of origins',
    description:
      'Origins whose pages may call a gateway in their private network (`Access-Control-Allow-Private-Network`), in addition to those that a key names: `https://app.example.org`, `*.example.org`.',
    type: 'array',
    uniqueItems: true,
    default: [],
    items: {
      title: 'origin',
      type: 'string',
      // As auth/formats/origin-pattern.ts: no bare asterisk.
      pattern:
        '^([A-Za-z][A-Za-z0-9+.-]*://)?(\\*\\.)?([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$',
    },
    replaces: 'network',
  },
  public: { ...publicCallers, replaces: 'network' },
  methods: { ...networkMethods, replaces: 'network' },
  route: { ...route, replaces: 'network' },
  transactions: { ...transactions, replaces: 'network' },
  private: { ...privateTransactions, replaces: 'network' },
  balance: { ...balance, replaces: 'network' },
  hedge: { ...hedge, replaces: 'network' },
  failsafe: { ...networkFailsafe, replaces: 'network' },
  verify: { ...verify, replaces: 'network' },
  witnesses: { ...witnesses, replaces: 'network' },
  cache: {
    title: 'on or off',
    description:
      'Whether responses are cached. off: for a chain whose state or final blocks change outside Gatehouse, such as a fork of a development node.',
    enum: ['on', 'off'],
    default: 'on',
    replaces: 'network',
  },
  maxLagBlocks: {
    title: 'whole number from 1 to 100000',
    description:
      "An upstream further behind the network's head is skipped. Default: 8 blocks, or the blocks of 16 s if those are more.",
    type: 'integer',
    minimum: 1,
    maximum: 100_000,
    replaces: 'network',
  },
  units: {
    ...unitsMap,
    description:
      'Request units of methods, in place of those in docs/methods.md: numbers, or formulas. A name may end in an asterisk: `debug_trace*`.',
    default: {},
    replaces: 'network',
  },
  maxBlockRange: {
    ...positiveInteger,
    description: 'Maximum blocks in the range of a log filter.',
    replaces: 'network',
  },
  maxAddresses: {
    ...positiveInteger,
    description: 'Maximum addresses of a log filter.',
    replaces: 'network',
  },
  maxStorageKeys: {
    ...positiveInteger,
    description: 'Maximum storage keys of `eth_getProof`.',
    replaces: 'network',
  },
  maxSimulatedCalls: {
    ...positiveInteger,
    description: 'Maximum calls of `eth_simulateV1`.',
    replaces: 'network',
  },
  maxResponseBytes: {
    ...positiveInteger,
    description: 'Maximum bytes of the response to a call.',
    default: 25_000_000,
    replaces: 'network',
  },
  upstreams: {
    title: 'list of at least one upstream',
    description: 'The upstreams of the network, best first.',
    type: 'array',
    minItems: 1,
    isRequired: true,
    items: {
      title: 'map with name and url, or with provider',
      type: 'object',
      properties: { ...upstreamOptions, ...providerOptions },
      dependentRequired: {
        url: ['name'],
        websocketUrl: ['name'],
        spawn: ['name'],
        key: ['provider'],
        endpoint: ['provider'],
      },
      oneOf: [
        {
          title: 'url, websocketUrl or both',
          anyOf: [
            { required: ['url'], properties: { url: true } },
            { required: ['websocketUrl'], properties: { websocketUrl: true } },
          ],
        },
        { title: 'spawn', required: ['spawn'], properties: { spawn: true } },
        { title: 'provider', required: ['provider'], properties: { provider: true } },
      ],
    },
    replaces: 'network',
  },
} as const satisfies Readonly<Record<string, NetworkOption>>;
