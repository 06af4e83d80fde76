import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A proxy between a gateway and its Redis. It can cut connections, or stop forwarding without closing them. */
export interface TcpProxy {
  readonly port: number;
  /** Closes all connections and rejects new ones. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Buffers the responses of Redis on the connection with this remote port. */
  holdResponses(port: number): void;
  /** Forwards the buffered responses. */
  release(): void;
  close(): Promise<void>;
}

interface ProxiedConnection {
  readonly client: Socket;
  readonly server: Socket;
  /** Held responses; undefined: they are forwarded at once. */
  buffered: Buffer[] | undefined;
}

export async function startTcpProxy(serverPort: number): Promise<TcpProxy> {
  const connections = new Set<ProxiedConnection>();
  let listener = await listen(0);
  const { port } = listener.address() as AddressInfo;

  async function listen(onPort: number): Promise<Server> {
    const listening = createServer((client) => {
      join(client);
    }).listen(onPort, '127.0.0.1');
    await once(listening, 'listening');
    return listening;
  }

  function join(client: Socket): void {
    const server = connect(serverPort, '127.0.0.1');
    const connection: ProxiedConnection = { client, server, buffered: undefined };
    connections.add(connection);
    const drop = (): void => {
      connections.delete(connection);
      client.destroy();
      server.destroy();
    };
    // Without Nagle's algorithm, so that the proxy adds no delay.
    for (const end of [client, server]) end.setNoDelay().on('error', drop).on('close', drop);
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk) => {
      if (connection.buffered === undefined) client.write(chunk);
      else connection.buffered.push(chunk);
    });
  }

  const cut = async (): Promise<void> => {
    for (const { client } of connections) client.destroy();
    if (!listener.listening) return;
    listener.close();
    await once(listener, 'close');
  };
  return {
    port,
    cut,
    restore: async () => {
      listener = await listen(port);
    },
    holdResponses: (remotePort) => {
      for (const connection of connections) if (connection.server.localPort === remotePort) connection.buffered = [];
    },
    release: () => {
      for (const connection of connections) {
        for (const chunk of connection.buffered ?? []) connection.client.write(chunk);
        connection.buffered = undefined;
      }
    },
    close: cut,
  };
}
