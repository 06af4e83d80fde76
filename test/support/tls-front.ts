import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

/** TLS in front of a node: HTTP and WebSocket. */
export interface TlsFront {
  readonly port: number;
  /** The names in the client certificates of accepted connections. */
  readonly clients: string[];
  /** Replaces certificates and authorities, and destroys all connections. */
  readonly renew: (options: TlsOptions) => void;
}

/** Starts it on a free loopback port, until the test ends. @param target URL of the node */
export async function startTlsFront(target: string, options: TlsOptions): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const clients: string[] = [];
  const server = createServer(options, (socket: TLSSocket) => {
    // Empty without a client certificate.
    const { subject } = socket.getPeerCertificate() as { subject?: { CN: string } };
    clients.push(subject?.CN ?? '');
    const node = connect(Number(new URL(target).port), '127.0.0.1');
    for (const one of [socket, node]) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', () => sockets.delete(one));
    }
    socket.pipe(node).pipe(socket);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    destroyAll();
  });
  return {
    port: (server.address() as AddressInfo).port,
    clients,
    renew: (renewed) => {
      server.setSecureContext(renewed);
      destroyAll();
    },
  };
}
