/** The validated configuration of a network, with `${NAME}` expanded. */
export interface NetworkConfig {
  /** The file's name without `.yaml`. */
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly baseUrls: readonly string[];
  /** Names of the methods that the network serves. */
  readonly methods: readonly string[];
  /** When a null needs confirmation by another upstream. */
  readonly confirmNull: ConfirmNull;
  /** Delay before a hedged request, in ms. Undefined: no hedging. */
  readonly hedgeAfterMs?: number | undefined;
  /** Upstreams further behind the head are skipped. Undefined: the limit depends on the block time. */
  readonly maxLagBlocks?: number | undefined;
  readonly upstreams: readonly UpstreamConfig[];
}

/** `behind`: if the upstream lags, misses a part of the chain, or returns null for a block that was served before. */
export type ConfirmNull = 'never' | 'behind' | 'always';

export interface UpstreamConfig {
  readonly name: string;
  /** Secret: it may contain a provider's key. Undefined for a spawned node, or with only a WebSocket. */
  readonly url?: string;
  /** Secret like the URL. Calls use it if there is no URL. */
  readonly websocketUrl?: string;
  readonly spawn?: 'anvil';
  /** Secret like the URL. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Upstreams with a lower priority number are selected first. */
  readonly priority?: number;
  /** It has every block and the state after each. */
  readonly archive?: boolean;
  /** It accepts batches: concurrent calls are combined into one request. HTTP only. */
  readonly batch?: boolean;
  readonly limits?: UpstreamLimitsConfig;
}

/** Limits on the use of an upstream. A missing limit means unlimited. */
export interface UpstreamLimitsConfig {
  readonly perSecond?: number;
  /** Requests at once after an idle time. Default: `perSecond`. */
  readonly burst?: number;
  /** Concurrent requests. */
  readonly concurrency?: number;
}

/** First path segments that the gateway uses itself. No network can have one of these slugs. */
export const reservedSlugs: ReadonlySet<string> = new Set([
  'v3',
  'ws',
  'metrics',
  'livez',
  'readyz',
  'healthz',
  'openrpc.json',
  'openrpc',
  'rpc',
  'admin',
  'keys',
  'docs',
  'status',
]);

/** Whether a file name has the form of a slug. Does not check `reservedSlugs`. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}
