import { request } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import { errorCode } from '../../../config/log.ts';

/** Failures at the proxy have codes that start with this, so that they differ from those of the upstream. */
const PREFIX = 'PROXY_';
const KEEP_ALIVE_MS = 60_000;

export interface Tunnel {
  /** Address of the proxy. */
  readonly proxy: { readonly host: string; readonly port: number };
  /** Headers for the proxy. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream; without brackets around an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** Options of TLS; undefined: the connection in the tunnel has none. */
  readonly tls: SecureContextOptions | undefined;
}

/**
 * Opens a connection to an upstream through an HTTP proxy, with CONNECT and then TLS. The socket is ready for use.
 * @param signal ends the attempt; its reason is the error
 * @throws Error with a code, without hosts in it
 */
export async function openTunnel(tunnel: Tunnel, signal: AbortSignal): Promise<Socket> {
  const socket = await connectProxy(tunnel, signal);
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  return tunnel.tls === undefined ? socket : secure(socket, tunnel.host, tunnel.tls, signal);
}

function connectProxy({ proxy, headers, host, port }: Tunnel, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const connecting = request({
      ...{ ...proxy, method: 'CONNECT', path: target, agent: false, signal },
      headers: { host: target, ...headers },
    });
    connecting
      .once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
        if (statusCode < 200 || statusCode > 299) {
          socket.destroy();
          reject(codedError(PREFIX + String(statusCode)));
          return;
        }
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      })
      .once('error', (error) => {
        reject(signal.aborted ? (signal.reason as Error) : codedError(PREFIX + errorCode(error)));
      })
      .end();
  });
}

function secure(socket: Socket, host: string, tls: SecureContextOptions, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? { servername: host } : { host };
    const secured = connectTls({ ...tls, ...servername, socket, ALPNProtocols: ['http/1.1'] });
    const abort = (): void => {
      socket.destroy();
      secured.destroy(signal.reason as Error);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    secured.once('error', reject).once('secureConnect', () => {
      signal.removeEventListener('abort', abort);
      secured.off('error', reject);
      resolve(secured);
    });
  });
}

export function codedError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
