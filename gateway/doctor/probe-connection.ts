import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { errorCode } from '../config/log.ts';

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
 * Reads the certificate of an https or wss URL. @returns days until it expires
 * @throws Error without the host in its message, if there is no trusted certificate
 */
export async function probeCertificate({ hostname, port }: URL, timeoutMs: number): Promise<number> {
  const host = withoutBrackets(hostname);
  let socket: TLSSocket | undefined;
  try {
    return await new Promise<number>((resolve, reject) => {
      // Accepts untrusted certificates in order to report the code: Node's own message has the host.
      const servername = isIP(host) === 0 ? { servername: host } : {};
      socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false, ...servername });
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
        else resolve(Math.floor((Date.parse(socket?.getPeerCertificate().valid_to ?? '') - Date.now()) / DAY_MS));
      });
    });
  } finally {
    socket?.destroy();
  }
}

/** Removes the brackets of an IPv6 address in a URL. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
