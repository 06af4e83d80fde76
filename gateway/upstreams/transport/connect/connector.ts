import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { clock } from '../../../clock/clock.ts';
import { codedError, openTunnel, type Tunnel } from './open-tunnel.ts';

/** How connections to an upstream are opened, beside its URL. */
export interface ConnectOptions {
  /** Authorities and client certificate, as PEM texts. */
  readonly tls?: SecureContextOptions | undefined;
  /** An HTTP proxy. */
  readonly proxyUrl?: string | undefined;
}

/** URL and headers of a proxy. */
interface Proxy {
  readonly url: URL;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

type Callback = (error: Error | null, socket: Socket | null) => void;

/** Time for a connection through a proxy: to the proxy, to the upstream, and TLS. */
const CONNECT_TIMEOUT_MS = 5_000;
const HTTP_PORT = 80;
const TLS_PORT = 443;

/** Opens connections to one upstream through a proxy, for HTTP and WebSocket. It pools none. */
export class Connector {
  readonly #tunnel: Tunnel;
  readonly #pending = new Set<AbortController>();
  #isClosed = false;

  /** @param url of the upstream */
  constructor(url: URL, proxy: Proxy, tls?: SecureContextOptions) {
    this.#tunnel = tunnelTo(url, proxy, tls);
  }

  /** The connector of undici, and `createConnection` of node:http. The parameters of both have no more than the URL. */
  readonly connect = (_options: unknown, callback: Callback): void => {
    const controller = new AbortController();
    const timer = clock.setTimeout(() => {
      controller.abort(codedError('PROXY_TIMEOUT'));
    }, CONNECT_TIMEOUT_MS);
    this.#pending.add(controller);
    if (this.#isClosed) controller.abort(codedError('PROXY_CLOSED'));
    const end = (): void => {
      clock.clearTimeout(timer);
      this.#pending.delete(controller);
    };
    openTunnel(this.#tunnel, controller.signal).then(
      (socket) => {
        end();
        callback(null, socket);
      },
      (error: unknown) => {
        end();
        callback(error as Error, null);
      },
    );
  };

  /** Ends the attempts in progress. Open connections stay. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#pending) controller.abort(codedError('PROXY_CLOSED'));
  }
}

/** @param url of the upstream  @param tls ignored without https or wss */
export function tunnelTo(
  { protocol, hostname, port }: URL,
  { url: proxy, headers }: Proxy,
  tls: SecureContextOptions = {},
): Tunnel {
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  return {
    proxy: { host: withoutBrackets(proxy.hostname), port: Number(proxy.port || HTTP_PORT) },
    headers: Object.fromEntries(headers.map(([name, value]) => [`proxy-${name}`, value])),
    host: withoutBrackets(hostname),
    port: Number(port || (isSecure ? TLS_PORT : HTTP_PORT)),
    tls: isSecure ? tls : undefined,
  };
}

/** The host name of a URL. One that is an IPv6 address has brackets there. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
