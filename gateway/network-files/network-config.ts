/** A network as its file describes it, checked, with `${NAME}` filled in. */
export interface NetworkConfig {
  /** The file's name without `.yaml`. */
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly baseUrls: readonly string[];
  /** Names of the methods that the network serves. */
  readonly methods: readonly string[];
  /** When a null is asked of another upstream before it is believed. */
  readonly confirmNull: ConfirmNull;
  /** When a call that takes long is asked of a second upstream as well; ms. Undefined: never. */
  readonly hedgeAfterMs?: number | undefined;
  /** An upstream that is further behind the head is passed over. Undefined: by the pace of the network. */
  readonly maxLagBlocks?: number | undefined;
  readonly upstreams: readonly UpstreamConfig[];
}

/** `behind`: when the upstream lags, is known to lack a part of the chain, or denies a block that callers were told of. */
export type ConfirmNull = 'never' | 'behind' | 'always';

export interface UpstreamConfig {
  readonly name: string;
  /** Secret: it may hold a provider's key. Undefined where the node is spawned, or there is only a WebSocket. */
  readonly url?: string;
  /** Secret as the URL. Calls go over it where there is no URL. */
  readonly websocketUrl?: string;
  readonly spawn?: 'anvil';
  /** Secret as the URL. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Those of a lower one are asked first. */
  readonly priority?: number;
  /** It has every block, with the state after it. */
  readonly archive?: boolean;
  /** It takes batches: calls of one moment go in one request. Over HTTP only. */
  readonly batch?: boolean;
  readonly limits?: UpstreamLimitsConfig;
}

/** How much of an upstream may be used; what is left out is not limited. */
export interface UpstreamLimitsConfig {
  readonly perSecond?: number;
  /** Requests at once after a rest; those of a second where left out. */
  readonly burst?: number;
  /** Requests under way at once. */
  readonly concurrency?: number;
}

/** First path segments that are the gateway's own, so that no network can be called so. */
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

/** Whether a file may be called so; the reserved ones may not, besides. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}
