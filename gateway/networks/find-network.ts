import type { NetworkConfig } from '../network-files/network-config.ts';
import { splitBaseUrl } from '../network-files/options/check-texts.ts';

/** Parsed target of a request (RFC 9112 §3.2): the network, and the text at the position of the key. */
export interface RequestTarget<N> {
  readonly network: N | undefined;
  readonly key: string;
  /** Whether it is a WebSocket address, `<base>/ws/v3/<KEY>`. No base URL ends with `/ws`. */
  readonly isWebSocket: boolean;
  /** Whether it is `<base>` or `<base>/ws`, for callers without a key. */
  readonly isBase?: true;
}

/**
 * Finds networks by base URL. The path before `/v3/<KEY>` is looked up under the request's host with its port, then under
 * the host alone, then as a slug, which every host serves.
 */
export class NetworkFinder<N extends { readonly config: NetworkConfig }> {
  /**
   * Identity of the networks: another object after each `replace`, which sets it: callers compare it to validate their cached
   * targets.
   */
  active: unknown;
  #byHost: ReadonlyMap<string, ReadonlyMap<string, N>> = new Map();
  #bySlug: ReadonlyMap<string, N> = new Map();
  #hint = '';

  constructor(networks: readonly N[]) {
    this.replace(networks);
  }

  get all(): readonly N[] {
    return [...this.#bySlug.values()];
  }

  /** Error text for requests to no network's address; it lists the base URLs. */
  get hint(): string {
    return this.#hint;
  }

  /** Replaces all networks for the next lookup. */
  replace(networks: readonly N[]): void {
    const byHost = new Map<string, Map<string, N>>();
    for (const network of networks) {
      for (const baseUrl of network.config.baseUrls) {
        const { host, path } = splitBaseUrl(baseUrl);
        const paths = byHost.get(host) ?? new Map<string, N>();
        byHost.set(host, paths.set(path, network));
      }
    }
    this.#byHost = byHost;
    this.#bySlug = new Map(networks.map((network) => [`/${network.config.slug}`, network]));
    this.active = this.#bySlug;
    this.#hint = hintOf(networks);
  }

  get(slug: string): N | undefined {
    return this.#bySlug.get(`/${slug}`);
  }

  /**
   * @param url path and query of the request line; HTTP also allows an absolute URL there
   * @param host the Host header
   * @returns undefined if the path has not the form `<base>/v3/<KEY>` or `<base>/ws/v3/<KEY>`, nor `<base>` or `<base>/ws` of
   * a network with `public`
   */
  find(url: string, host: string | undefined): RequestTarget<N> | undefined {
    const path = pathOf(url);
    const version = path.endsWith('/v3') ? path.length - 3 : path.lastIndexOf('/v3/');
    if (version === -1) return this.#findBase(path, host);
    const end = path.endsWith('/') ? path.length - 1 : path.length;
    const key = path.slice(Math.min(version + 4, end), end);
    if (key.includes('/')) return undefined;
    const base = path.slice(0, version);
    const isWebSocket = base.endsWith('/ws');
    return { network: this.atBaseUrl(isWebSocket ? base.slice(0, -3) : base, host), key, isWebSocket };
  }

  /** Error text for a request at no network's address. At a base URL it says what to add. */
  hintFor(url: string, host: string | undefined): string {
    const base = withoutSlash(pathOf(url));
    const network = this.atBaseUrl(base, host);
    if (network === undefined) return this.#hint;
    return network.config.public !== undefined
      ? `send JSON-RPC by POST to ${base}, or by WebSocket to ${base}/ws`
      : `no key at this address; send JSON-RPC by POST to ${base}/v3/<key> or by WebSocket to ${base}/ws/v3/<key>`;
  }

  #findBase(path: string, host: string | undefined): RequestTarget<N> | undefined {
    const base = withoutSlash(path);
    const isWebSocket = base.endsWith('/ws');
    const network = this.atBaseUrl(isWebSocket ? base.slice(0, -3) : base, host);
    return network?.config.public === undefined ? undefined : { network, key: '', isWebSocket, isBase: true };
  }

  /** @param base path of a base URL, without a trailing slash */
  atBaseUrl(base: string, host: string | undefined): N | undefined {
    if (this.#byHost.size > 0 && host !== undefined) {
      const lowerHost = host.toLowerCase();
      const found = this.#byHost.get(lowerHost)?.get(base) ?? this.#byHost.get(withoutPort(lowerHost))?.get(base);
      if (found !== undefined) return found;
    }
    return this.#bySlug.get(base);
  }
}

/** The path without the query, the host of an absolute URL, and doubled slashes. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  let path = query === -1 ? url : url.slice(0, query);
  if (!path.startsWith('/')) path = path.replace(/^https?:\/\/[^/]*/i, '');
  return path.includes('//') ? path.replace(/\/{2,}/g, '/') : path;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '');
}

function hintOf(networks: readonly { readonly config: NetworkConfig }[]): string {
  const bases = networks.flatMap(({ config: { slug, baseUrls } }) => [`/${slug}`, ...baseUrls]);
  return `no network at this address; send JSON-RPC by POST to <base URL>/v3/<key> or by WebSocket to <base URL>/ws/v3/<key>, where base URLs are: ${bases.join(', ')}`;
}
