import { lookup } from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { clock } from '../clock/clock.ts';
import { errorCode } from '../config/log.ts';
import { tunnelTo, type ConnectOptions } from '../upstreams/transport/connect/connector.ts';
import { openTunnel } from '../upstreams/transport/connect/open-tunnel.ts';
import { credentialsOf } from '../upstreams/transport/credentials.ts';

const DAY_MS = 86_400_000;

/** Resolves a URL's host. @returns number of addresses. @throws Error with the resolver's code, without the host */
export async function probeName({ hostname }: URL): Promise<number> {
  const host = withoutBrackets(hostname);
  if (isIP(host) !== 0) return 1;
  try {
    return (await lookup(host, { all: true })).length;
  } catch (error) {
    throw new Error(`its host name cannot be resolved (${errorCode(error)})`, { cause: error });
  }
}

/**
 * Reads the certificate of an https or wss URL, also through a proxy. @returns days until it expires
 * @throws Error without the host in its message, if there is no trusted certificate
 */
export async function probeCertificate(url: URL, timeoutMs: number, options: ConnectOptions): Promise<number> {
  const { hostname, port } = url;
  const { tls, proxyUrl } = options;
  const host = withoutBrackets(hostname);
  const tunnel = proxyUrl === undefined ? undefined : await openProxy(url, proxyUrl, timeoutMs);
  let socket: TLSSocket | undefined;
  try {
    return await new Promise<number>((resolve, reject) => {
      // Accepts untrusted certificates in order to report the code: Node's own message has the host.
      const servername = isIP(host) === 0 ? { servername: host } : {};
      const target = tunnel === undefined ? { host, port: Number(port || 443) } : { socket: tunnel };
      socket = connect({ ...tls, ...target, rejectUnauthorized: false, ...servername });
      socket.setTimeout(timeoutMs, () => {
        reject(new Error('no TLS handshake in time'));
      });
      socket.once('error', (error) => {
        reject(new Error(`no TLS handshake (${errorCode(error)})`));
      });
      socket.once('secureConnect', () => {
        const { authorized, authorizationError } = socket as TLSSocket;
        const code = typeof authorizationError === 'string' ? authorizationError : errorCode(authorizationError);
        if (!authorized) reject(new Error(`its certificate is not trusted (${code})`));
        else resolve(Math.floor((Date.parse(socket?.getPeerCertificate().valid_to ?? '') - clock.unixMs()) / DAY_MS));
      });
    });
  } finally {
    socket?.destroy();
    tunnel?.destroy();
  }
}

/** @throws Error without hosts in its message */
async function openProxy(url: URL, proxyUrl: string, timeoutMs: number): Promise<Socket> {
  const tunnel = tunnelTo(url, credentialsOf(proxyUrl, {}));
  try {
    return await openTunnel({ ...tunnel, tls: undefined }, AbortSignal.timeout(timeoutMs));
  } catch (error) {
    throw new Error(`no connection through the proxy (${errorCode(error)})`, { cause: error });
  }
}

/** Removes the brackets of an IPv6 address in a URL. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
