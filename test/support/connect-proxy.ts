import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';

/** An HTTP proxy with CONNECT only. */
export interface ConnectProxy {
  readonly port: number;
  /** The targets of all CONNECT requests: `host:port`. */
  readonly targets: string[];
  /** The header `Proxy-Authorization` of each. */
  readonly credentials: (string | undefined)[];
  /** Requests that were left without a response, and are still connected. */
  readonly hanging: ReadonlySet<Duplex>;
}

/** @param behaviour a status other than 200 rejects each request; `hang` leaves it without a response */
export async function startConnectProxy(behaviour: number | 'hang' = 200): Promise<ConnectProxy> {
  const [targets, credentials]: [string[], (string | undefined)[]] = [[], []];
  const hanging = new Set<Duplex>();
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Duplex) => {
    targets.push(url);
    credentials.push(headers['proxy-authorization']);
    client.on('error', () => undefined).on('end', () => client.destroy());
    if (behaviour === 'hang') {
      hanging.add(client.on('close', () => hanging.delete(client)).resume());
      return;
    }
    if (behaviour !== 200) {
      client.end(`HTTP/1.1 ${behaviour} No\r\n\r\n`);
      return;
    }
    const upstream = connect(Number(url.slice(url.lastIndexOf(':') + 1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    sockets.add(upstream.on('error', () => client.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, targets, credentials, hanging };
}
