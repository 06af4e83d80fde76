import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { errorCode } from '../config/log.ts';

const DAY_MS = 86_400_000;

/** How many addresses a URL's host has. @throws Error with the resolver's code, and no host, as its message */
export async function probeName({ hostname }: URL): Promise<number> {
  const host = bare(hostname);
  if (isIP(host) !== 0) return 1;
  try {
    return (await lookup(host, { all: true })).length;
  } catch (error) {
    throw new Error(`its name is not found (${errorCode(error)})`, { cause: error });
  }
}

/**
 * Days that the certificate behind an https or wss URL is still good for.
 * @throws Error without the host in its message, where there is none, or none that is trusted
 */
export async function probeCertificate({ hostname, port }: URL, timeoutMs: number): Promise<number> {
  const host = bare(hostname);
  let socket: TLSSocket | undefined;
  try {
    return await new Promise<number>((resolve, reject) => {
      // What is wrong with it is told by its code; Node's own message names the host.
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

/** An IPv6 address stands in brackets in a URL. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
