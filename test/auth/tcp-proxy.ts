import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A wire between a gateway and its Redis that can be cut, or can go silent as one does whose far end fell off. */
export interface TcpProxy {
  readonly port: number;
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Holds back what Redis says on the connection that Redis knows by this port. */
  holdReplies(port: number): void;
  /** Lets through what was held back. */
  release(): void;
  close(): Promise<void>;
}

interface Wire {
  readonly caller: Socket;
  readonly callee: Socket;
  held: Buffer[] | undefined;
}

export async function startTcpProxy(calleePort: number): Promise<TcpProxy> {
  const wires = new Set<Wire>();
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;

  async function listen(onPort: number): Promise<Server> {
    const listening = createServer((caller) => {
      join(caller);
    }).listen(onPort, '127.0.0.1');
    await once(listening, 'listening');
    return listening;
  }

  function join(caller: Socket): void {
    const callee = connect(calleePort, '127.0.0.1');
    const wire: Wire = { caller, callee, held: undefined };
    wires.add(wire);
    const drop = (): void => {
      wires.delete(wire);
      caller.destroy();
      callee.destroy();
    };
    // A wire does not wait to fill its packets, as a socket does by itself.
    for (const end of [caller, callee]) end.setNoDelay().on('error', drop).on('close', drop);
    caller.on('data', (chunk) => callee.write(chunk));
    callee.on('data', (chunk) => {
      if (wire.held === undefined) caller.write(chunk);
      else wire.held.push(chunk);
    });
  }

  const cut = async (): Promise<void> => {
    for (const wire of wires) wire.caller.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    port,
    cut,
    mend: async () => {
      server = await listen(port);
    },
    holdReplies: (calleeKnowsItBy) => {
      for (const wire of wires) if (wire.callee.localPort === calleeKnowsItBy) wire.held = [];
    },
    release: () => {
      for (const wire of wires) {
        for (const chunk of wire.held ?? []) wire.caller.write(chunk);
        wire.held = undefined;
      }
    },
    close: cut,
  };
}
