import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { clock } from '../clock/clock.ts';
import { errorCode } from '../config/log.ts';
import { tunnelTo, withoutBrackets, type ConnectOptions } from '../upstreams/transport/connect/connector.ts';
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
export async function probeCertificate(
  url: URL,
  { tls, proxyUrl, timeoutMs }: ConnectOptions & { readonly timeoutMs: number },
): Promise<number> {
  const host = withoutBrackets(url.hostname);
  const tunnel = proxyUrl === undefined ? undefined : await openProxy(url, proxyUrl, timeoutMs);
  const target = tunnel === undefined ? { host, port: Number(url.port || 443) } : { socket: tunnel };
  const servername = isIP(host) === 0 ? { servername: host } : {};
  let socket: TLSSocket | undefined;
  try {
    // Accepts untrusted certificates in order to report the code: Node's own message has the host.
    socket = connect({ ...tls, ...target, rejectUnauthorized: false, ...servername });
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) }).catch((error: unknown) => {
      const code = errorCode(error);
      throw new Error(code === 'ABORT_ERR' ? 'no TLS handshake in time' : `no TLS handshake (${code})`);
    });
    const { authorized, authorizationError: error } = socket;
    const code = typeof error === 'string' ? error : errorCode(error);
    if (!authorized) throw new Error(`its certificate is not trusted (${code})`);
    return Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - clock.unixMs()) / DAY_MS);
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
