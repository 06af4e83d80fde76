import { checkBaseUrl, checkHeader, checkPem, checkProxy, checkUrl } from './check-texts.ts';
import { byMethod, forMethods } from './method-pattern.ts';
import {
  aboveZero,
  either,
  listOf,
  type NetworkOption,
  oneOf,
  type OptionSchema,
  text,
  trueOrFalse,
  type UpstreamOption,
  whole,
} from './option.ts';
import { providerNames } from './providers.generated.ts';
import { publicFields, totalFields } from './public-fields.generated.ts';
import { unitsMap } from './units-option.ts';
import { upstreamAudit, verify, witnesses } from './verify-option.ts';

const boundRows = {
  maxBlockRange: { ...whole(1), description: 'Maximum blocks in the range of a log filter.' },
  maxAddresses: { ...whole(1), description: 'Maximum addresses of a log filter.' },
  maxStorageKeys: { ...whole(1), description: 'Maximum storage keys of `eth_getProof`.' },
  maxSimulatedCalls: { ...whole(1), description: 'Maximum calls of `eth_simulateV1`.' },
  maxResponseBytes: { ...whole(1), description: 'Maximum bytes of the response to a call.' },
} as const satisfies Readonly<Record<string, OptionSchema>>;

/** The names of fields that a key has too. */
function listOfKey(fields: object): string {
  const names = Object.keys(fields).map((name) => `\`${name}\``);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** Bounds of what one call may request. */
const bounds = {
  title: `map with ${Object.keys(boundRows).slice(0, -1).join(', ')} or maxResponseBytes`,
  description:
    'Bounds of a call of any caller: `maxBlockRange`, `maxAddresses`, `maxStorageKeys` and `maxSimulatedCalls`, see docs/keys.md, and `maxResponseBytes`. A call beyond one is rejected with -32005, which names the bound.',
  type: 'object',
  properties: { ...boundRows, maxResponseBytes: { ...boundRows.maxResponseBytes, default: 25_000_000 } },
  default: {},
} as const satisfies OptionSchema;

/** Calls without a key. The fields of a key are generated from the table of permissions. */
const publicCallers = {
  title: 'map of permissions and limits',
  description: `Calls without a key are served, with permissions and limits of each client address. Without it they are 401. See docs/keys.md#calls-without-a-key. Fields of a key, see docs/keys.md: ${listOfKey(publicFields)}.`,
  type: 'object',
  properties: {
    ...publicFields,
    methods: {
      ...publicFields.methods,
      description:
        'Public methods: names, or namespaces such as `eth`. Default: all but those of debug, trace, txpool and ots, and filters, which a namespace does not open either.',
    },
    concurrency: {
      ...publicFields.concurrency,
      description: 'Maximum requests in flight, per gateway; others wait for up to 1 s.',
      default: 16,
    },
    bounds: {
      title: bounds.title,
      description: 'Bounds of calls without a key, as those of the network. The lower one holds.',
      type: 'object',
      properties: boundRows,
      membersAs: 'bounds',
    },
    perSender: {
      title: 'map with rate, which may have burst beside it',
      description: 'Limit of methods that send a transaction, by its sender, whatever the address.',
      type: 'object',
      dependentRequired: { burst: ['rate'] },
      properties: {
        rate: { ...aboveZero, description: 'Transactions per second.', isRequired: true },
        burst: { ...whole(1), description: 'Transactions at once; default: those of one second.' },
      },
    },
    ipv4Prefix: {
      ...whole(8, 32),
      description: 'Bits of an IPv4 address that share one limit.',
      default: 32,
    },
    ipv6Prefix: {
      ...whole(16, 64),
      description: 'Bits of an IPv6 address that share one limit. Each /48 has the limits of 16 of them.',
      default: 64,
    },
    total: {
      title: 'map of limits',
      description: `Limits of all callers without a key together. Fields of a key, see docs/keys.md: ${listOfKey(totalFields)}.`,
      type: 'object',
      default: {},
      properties: {
        ...totalFields,
        concurrency: {
          ...totalFields.concurrency,
          description:
            'Maximum requests in flight, per gateway. They have the slots at upstreams of one key, of more above 256.',
          default: 256,
        },
      },
    },
  },
} as const satisfies OptionSchema;

/** Shorter texts are no keys, but placeholders. The redaction of URLs relies on this length. */
const MIN_KEY_CHARS = 16;

/** Options of an upstream that `expandProvider` replaces by its URLs: no other code reads them. */
export const providerOptions = {
  provider: {
    ...oneOf(...providerNames),
    description:
      'Instead of url: a provider, see docs/networks.md. Its URL for the chain is used, with its WebSocket URL if there is one.',
    replaces: 'upstream',
  },
  key: {
    ...text('key without spaces, such as `${ALCHEMY_KEY}`', '^[^\\s]+$'),
    description: 'Key for the provider, usually `${NAME}` from the environment or `${file:/path}`.',
    hasVariables: true,
    check: checkKey,
    replaces: 'upstream',
  },
  endpoint: {
    ...text('name of an endpoint: letters, digits and hyphens', '^[^\\s]+$'),
    description: "Name of your endpoint, if the provider's URLs have one.",
    hasVariables: true,
    check: checkEndpoint,
    replaces: 'upstream',
  },
} as const satisfies Readonly<Record<string, UpstreamOption>>;

/** A key is a part of a URL, so that it must not need encoding. @param key after variable expansion */
function checkKey(key: string | undefined): string | undefined {
  if (key === undefined || (key.length >= MIN_KEY_CHARS && /^[\w.~-]+$/.test(key))) return undefined;
  return `expected the key alone, not a URL: ${MIN_KEY_CHARS} or more letters, digits, hyphens, dots and underscores`;
}

function checkEndpoint(name: string | undefined): string | undefined {
  return name === undefined || /^[a-z0-9-]+$/i.test(name) ? undefined : 'expected the name alone, not a URL';
}

const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$';
const upstreamNames = listOf('list of names of upstreams', text('name of an upstream', NAME_PATTERN));
const pem = text('full path of a PEM file, or ${file:/path}', '^(/|\\$\\{|-----BEGIN )');
const milliseconds = whole(1, 600_000, 'milliseconds');

/** Forms of errors over a rate or quota. */
export const errorForms = ['gatehouse', 'infura'] as const;
export type ErrorForm = (typeof errorForms)[number];

const HEDGE_TITLE = 'off, or whole number of milliseconds from 1 to 60000';
const MAX_HEDGE_MS = 60_000;

/** Times of calls. */
const times = {
  timeoutMs: {
    ...milliseconds,
    description: 'Time for one attempt, in ms; default: by the group of the method, see docs/routing.md.',
  },
  hedgeAfterMs: {
    ...either(HEDGE_TITLE, 'integer', whole(1, MAX_HEDGE_MS), { const: 'off' }),
    description:
      'Time in ms after which a read is hedged; or off. Default: the 95th percentile of its method. The first response is used.',
  },
} as const satisfies Readonly<Record<string, OptionSchema>>;

/**
 * Options of an upstream. Everything about an option is in its row: the type of `UpstreamConfig`, reading, JSON Schema,
 * diagnostics, reload and docs/networks.md are made from it. Code reads it from `FixedUpstreamOptions` or `LiveUpstreamOptions`.
 */
export const upstreamOptions = {
  name: {
    ...text('text of 1 to 40 letters, digits, dots, hyphens and underscores', NAME_PATTERN),
    description: 'Name in metrics, logs and pages; the URL is never shown. With provider: that name by default.',
    isRequired: 'by other options',
    replaces: 'upstream',
  },
  url: {
    ...text('http or https URL', '^(https?://|\\$\\{)[^\\s]+$'),
    description:
      'HTTP or HTTPS URL. It may contain ${NAME} and ${NAME:-default} from the environment, and ${file:/path}.',
    hasVariables: true,
    check: checkUrl('http'),
    replaces: 'upstream',
  },
  websocketUrl: {
    ...text('ws or wss URL', '^(wss?://|\\$\\{)[^\\s]+$'),
    description:
      'The same node over WebSocket, for new heads. Without url, all calls use this connection too. It may contain variables.',
    hasVariables: true,
    check: checkUrl('ws'),
    replaces: 'upstream',
  },
  headers: {
    title: 'map of header names to values',
    description:
      'Headers of every request and WebSocket handshake. Values may contain ${NAME} from the environment, and ${file:/path}.',
    type: 'object',
    propertyNames: { title: 'header name', pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
    additionalProperties: text('header value of printable characters', '^[ -~]*$'),
    hasVariables: true,
    default: {},
    check: checkHeader,
    replaces: 'upstream',
  },
  // For nodes behind a private authority, or that require a client certificate.
  tls: {
    title: 'map with ca, cert and key',
    description:
      'For https and wss: authorities and client certificate, as PEM files. Renewed files are used within 5 s.',
    type: 'object',
    minProperties: 1,
    properties: {
      ca: { ...pem, description: 'The only authorities that are trusted. Default: the public ones.' },
      cert: { ...pem, description: 'Client certificate, with intermediate certificates after it.' },
      key: { ...pem, description: 'Private key of the client certificate, without a passphrase.' },
    },
    dependentRequired: { cert: ['key'], key: ['cert'] },
    hasVariables: true,
    isFile: true,
    check: checkPem,
    replaces: 'upstream',
  },
  proxyUrl: {
    ...text('http URL of a proxy', '^(http://|\\$\\{)[^\\s]+$'),
    description:
      'HTTP proxy through which all connections are opened, with CONNECT: `http://user:${PROXY_PASSWORD}@10.0.0.9:3128`. The URL is secret.',
    hasVariables: true,
    check: checkProxy,
    replaces: 'upstream',
  },
  maxResponseBytes: {
    ...whole(1),
    description: 'Maximum bytes of a response of this upstream; default: 32000000.',
    replaces: 'upstream',
  },
  failsafe: {
    ...forMethods(times),
    description: 'As `failsafe` of the network, for attempts at this upstream: `timeoutMs` and `hedgeAfterMs` only.',
    membersAs: 'failsafe',
    replaces: 'nothing',
  },
  priority: {
    ...whole(0, 1000),
    description:
      'Upstreams with a lower priority are selected first. With equal priority the first in the file is, until another is clearly faster.',
    default: 0,
    replaces: 'nothing',
  },
  weight: {
    ...whole(1, 1000),
    description: 'Its share of the calls among upstreams of equal priority, with `balance: weighted`.',
    default: 1,
    replaces: 'nothing',
  },
  group: {
    ...text(
      'text of 1 to 40 letters, digits, spaces, dots, hyphens and underscores',
      '^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,38}[A-Za-z0-9])?$',
    ),
    description:
      'Who runs the upstream, such as an operator or a data centre: upstreams of one group have one vote about the chain. Default: host and port of its URL; the hosts of a hosted provider are one group. See docs/consistency.md.',
    replaces: 'nothing',
  },
  archive: {
    ...trueOrFalse,
    description: 'The upstream has the state of every block: calls for old state use such upstreams first.',
    default: false,
    replaces: 'upstream',
  },
  batch: {
    ...either('auto, true or false', 'boolean', trueOrFalse, { const: 'auto' }),
    description:
      'Whether lookups that a client sent as a batch are sent as JSON-RPC batches of up to 10 calls, and evidence of `verify` as batches of up to 100. After a refusal of the former, none are sent for 10 minutes (auto) or for 60 s (true); auto: for 10 s if the node works on their calls one after the other. Only with url.',
    default: 'auto',
    replaces: 'upstream',
  },
  limits: {
    title: 'map with perSecond, which may have burst beside it, or concurrency',
    description:
      "Limits of the provider's plan. At its limit an upstream is skipped; the gateway's own requests, such as head polls, count too.",
    type: 'object',
    minProperties: 1,
    dependentRequired: { burst: ['perSecond'] },
    properties: {
      perSecond: {
        ...aboveZero,
        description: 'Requests per second, of all workers, and of all gateways with one Redis.',
      },
      burst: { ...whole(1), description: 'Requests that may be sent at once; default: those of one second.' },
      concurrency: { ...whole(1), description: 'Concurrent requests.' },
    },
    replaces: 'upstream',
  },
  methods: {
    ...listOf(
      'list of methods and wildcards, each with or without a minus',
      text(
        'method, or start of methods with * after it; a minus before it to exclude it',
        '^-?[a-z][a-zA-Z0-9_.]*\\*?$',
      ),
    ),
    description:
      'Methods for which the upstream is used: only `[eth_*, debug_traceTransaction]`; or all but those with a minus, `[-eth_getLogs, -trace_*]`. It gets no other call and no other request of the gateway, such as head polls, except for eth_chainId.',
    replaces: 'nothing',
  },
  probe: {
    ...oneOf('on', 'off'),
    description:
      'Whether the upstream is polled and probed while it gets no calls. off: for an upstream that bills each request; its failures are noticed by calls only.',
    default: 'on',
    replaces: 'nothing',
  },
  audit: { ...upstreamAudit, replaces: 'nothing' },
  spawn: {
    title: 'anvil',
    description: 'Instead of url: a local development chain that starts and stops with the gateway; not in production.',
    const: 'anvil',
    replaces: 'upstream',
  },
} as const satisfies Readonly<Record<string, UpstreamOption>>;

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
    ...whole(1, Number.MAX_SAFE_INTEGER),
    description: 'An upstream is used only if its eth_chainId, checked before its first use, is this number.',
    isRequired: true,
    replaces: 'chain',
  },
  currency: {
    ...text('symbol of 1 to 11 letters and digits', '^[A-Za-z0-9]{1,11}$'),
    description: 'Symbol of the native currency, for wallets. Default: that of the known chain, else ETH.',
    replaces: 'network',
  },
  explorer: {
    ...text('http or https URL without user', '^https?://[^\\s@]+$'),
    description: 'URL of a block explorer, for wallets and pages. Default: that of the known chain.',
    replaces: 'network',
  },
  development: {
    ...trueOrFalse,
    description:
      'A development network: `anvil_*`, `evm_*`, `hardhat_*`, `debug_*`, `trace_*`, `txpool_*`, `ots_*`, the accounts of its node, `eth_sendTransaction` and `eth_sign*` are served too, except in production. Always true with spawn.',
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
    items: text('http or https URL without query', '^https?://[^/?#\\s@]+(/[^?#\\s]*)?$'),
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
    items: text(
      'origin',
      // As auth/formats/origin-pattern.ts: no bare asterisk.
      '^([A-Za-z][A-Za-z0-9+.-]*://)?(\\*\\.)?([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$',
    ),
    replaces: 'network',
  },
  public: { ...publicCallers, replaces: 'network' },
  methods: {
    ...listOf(
      'list of namespaces and methods',
      text('namespace, method or wildcard, a minus before it to take it away', '^-?[a-zA-Z0-9_.]+\\*?$'),
    ),
    description:
      'Methods that the network serves: namespaces (eth) or single methods (zks_estimateFee); a minus removes one (-eth_getStorageAt), from the default list if all entries have a minus. Methods without a schema by full name (debug_getRawBlock), or as a wildcard (debug_*).',
    default: ['eth', 'net', 'web3', 'rpc'],
    replaces: 'network',
  },
  route: {
    ...byMethod('map of methods to lists of upstreams', upstreamNames),
    description:
      'The only upstreams for a method or wildcard: `eth_sendRawTransaction: [private-relay]`. Binding: no other upstream ever gets the call. The name counts, or else the longest wildcard.',
    default: {},
    replaces: 'network',
  },
  transactions: {
    ...either(
      'first, all, or a list of names of upstreams',
      'array',
      { ...upstreamNames, uniqueItems: true },
      { enum: ['first', 'all'] },
    ),
    description:
      'Which upstreams get a transaction. first: one, and the next only after a failure that says nothing about the transaction. all, or the named ones: at once, and none gets it again; the first acceptance is the response. See docs/routing.md.',
    default: 'first',
    replaces: 'network',
  },
  private: {
    title: 'map with upstreams, which may have fallbackAfterMs beside it',
    description: 'Relays for the transactions of keys with the capability `private`. See docs/routing.md.',
    type: 'object',
    properties: {
      upstreams: {
        ...{ ...upstreamNames, uniqueItems: true },
        description:
          'The only upstreams that get transactions of these keys, all at once. They get those of other keys only if `route` or `transactions` names them.',
        isRequired: true,
      },
      fallbackAfterMs: {
        ...milliseconds,
        description:
          'If no relay has responded about a private transaction after this time, in ms, the other upstreams get it, which reveals it; not while a relay waits for a receipt. It must be at least 100 ms below CALL_TIMEOUT_MS, else the file is rejected. Default: never.',
      },
    },
    replaces: 'network',
  },
  balance: {
    ...oneOf('first', 'latency', 'round-robin', 'weighted'),
    description:
      'How calls are divided among upstreams of equal priority. first: the first of the file, until another is clearly faster; latency: the faster, the more; round-robin: equally; `weighted`: by `weight`. Among equals, the one with the fewest requests in flight gets the call.',
    default: 'first',
    replaces: 'network',
  },
  failsafe: {
    ...forMethods({
      ...times,
      hedgeMinMs: {
        ...whole(1, MAX_HEDGE_MS, 'milliseconds'),
        description: 'Minimum of that percentile in ms, where there is no hedgeAfterMs; default: 50.',
      },
      maxAttempts: {
        ...whole(1, 100),
        description: 'Maximum requests to upstreams for one call: retries, hedges and confirmations count.',
      },
    }),
    description:
      'Times and attempts of all methods, and by method or wildcard: `{ timeoutMs: 5000, debug_*: { timeoutMs: 60000 } }`. See docs/routing.md.',
    default: {},
    replaces: 'network',
  },
  verify: { ...verify, replaces: 'network' },
  witnesses: { ...witnesses, replaces: 'network' },
  cache: {
    ...oneOf('on', 'off'),
    description:
      'Whether responses are cached. off: for a chain whose state or final blocks change outside Gatehouse, such as a fork of a development node.',
    default: 'on',
    replaces: 'network',
  },
  maxLagBlocks: {
    ...whole(1, 100_000),
    description:
      "An upstream further behind the network's head is skipped. Default: 8 blocks, or the blocks of 16 s if those are more.",
    replaces: 'network',
  },
  units: {
    ...unitsMap,
    description:
      'Request units of methods, in place of those in docs/reference/methods.md: numbers, or formulas. A name may end in an asterisk: `debug_trace*`.',
    default: {},
    replaces: 'network',
  },
  errors: {
    ...oneOf(...errorForms),
    description:
      "Form of errors over a rate or quota. infura: HTTP status, code and event are Infura's, and sockets of a key over its quota are closed. A key may have a form of its own. See docs/errors.md.",
    default: 'gatehouse',
    replaces: 'network',
  },
  bounds: { ...bounds, replaces: 'network' },
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

/** Successor of an option that was renamed, by its path without indices. It is an error, as another unknown name is. */
export const successors: ReadonlyMap<string, string> = new Map([
  ['agree', 'write verify: { agree: … }'],
  ['audit', 'write verify: { level: observe, share: … }'],
  ['confirmNull', 'write verify: { nulls: … }'],
  ['hedge', 'write failsafe: { hedgeAfterMs: off }, or failsafe: { hedgeMinMs: … } for a number'],
  ['upstreams.timeoutMs', 'write failsafe: { timeoutMs: … }'],
  ['upstreams.timeout', 'write failsafe: { timeoutMs: … }'],
  ...Object.keys(bounds.properties).flatMap((name): [string, string][] => [
    [name, `write bounds: { ${name}: … }`],
    [`public.${name}`, `write public: { bounds: { ${name}: … } }`],
  ]),
]);
