import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/**
 * Place where an exchange fails: after the connection is accepted, at the request (which the node does not get), before the
 * response, in its headers, after its headers, or in its body.
 */
export type Stage = 'accept' | 'request' | 'response' | 'headers' | 'body-start' | 'body';

/**
 * `vanish`: the proxy drops all data and neither closes nor resets connections. `dribble`: responses arrive in small
 * pieces.
 */
export type ConnectionFault =
  | { readonly kind: 'refuse' | 'vanish' | 'dribble' }
  | { readonly kind: 'reset' | 'close' | 'hang'; readonly at: Stage };

/** A TCP proxy in front of a node whose connections fail on demand. */
export interface FaultProxy {
  readonly port: number;
  /** Sets the fault of open and new connections. Undefined ends it. */
  fail(fault: ConnectionFault | undefined): Promise<void>;
  close(): Promise<void>;
}

const DRIBBLED_PIECES_MAX = 500;

export async function startFaultProxy(nodePort: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  /** Connections that lost data. They are reset when the fault ends, as by a restarted node. */
  const stuck = new Set<Socket>();
  let fault: ConnectionFault | undefined;
  let server: Server | undefined;
  let port = 0;

  async function listen(): Promise<void> {
    if (server !== undefined) return;
    server = createServer(accept).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  function accept(client: Socket): void {
    track(client);
    if (failsAt('accept')) {
      end(client);
      return;
    }
    const node = connect(nodePort, '127.0.0.1');
    track(node);
    let hasFailed = false;
    let dribbling = Promise.resolve();
    let dribbled = 0;
    client.on('close', () => node.destroy());
    node.on('close', () => {
      if (!hasFailed && fault?.kind !== 'vanish') client.end();
    });
    client.on('data', (chunk) => {
      if (fault?.kind === 'vanish') stuck.add(client);
      else if (failsAt('request')) end(client);
      else node.write(chunk);
    });
    node.on('data', (chunk) => {
      if (fault?.kind === 'vanish') stuck.add(client);
      if (hasFailed || stuck.has(client) || client.destroyed) return;
      const passingBytes = bytesBeforeFault(fault, chunk);
      if (passingBytes === undefined) {
        if (fault?.kind !== 'dribble' && dribbled === 0) client.write(chunk);
        else {
          dribbled++;
          dribbling = dribbling.then(() => dribble(client, chunk)).finally(() => dribbled--);
        }
        return;
      }
      hasFailed = true;
      client.write(chunk.subarray(0, passingBytes));
      void untilRead().then(() => {
        end(client);
      });
    });
  }

  function track(socket: Socket): void {
    sockets.add(socket);
    socket
      .setNoDelay()
      .on('error', () => socket.destroy())
      .on('close', () => {
        sockets.delete(socket);
        stuck.delete(socket);
      });
  }

  function failsAt(stage: Stage): boolean {
    return fault !== undefined && 'at' in fault && fault.at === stage;
  }

  /** Ends a connection as the current fault requires. With `hang` it stays open. */
  function end(socket: Socket): void {
    if (fault?.kind === 'reset') socket.resetAndDestroy();
    else if (fault?.kind === 'close') socket.end();
    else stuck.add(socket);
  }

  async function stop(): Promise<void> {
    const stopping = server;
    server = undefined;
    for (const socket of sockets) socket.destroy();
    if (stopping === undefined) return;
    stopping.close();
    await once(stopping, 'close');
  }

  await listen();
  return {
    port,
    fail: async (next) => {
      fault = next;
      if (next?.kind === 'refuse') await stop();
      else await listen();
      if (next === undefined) for (const socket of stuck) socket.resetAndDestroy();
      if (next !== undefined && 'at' in next && next.at === 'accept') for (const socket of sockets) socket.destroy();
    },
    close: stop,
  };
}

/** The bytes of a response that pass before the fault. Undefined: all, because the fault is not in the response. */
function bytesBeforeFault(fault: ConnectionFault | undefined, response: Buffer): number | undefined {
  if (fault === undefined || !('at' in fault)) return undefined;
  const bodyAt = response.indexOf('\r\n\r\n') + 4;
  switch (fault.at) {
    case 'response':
      return 0;
    case 'headers':
      return Math.floor(bodyAt / 2);
    case 'body-start':
      return bodyAt;
    case 'body':
      return Math.floor((bodyAt + response.length) / 2);
    // The response to a request that passed before the fault.
    default:
      return undefined;
  }
}

/** A reader in this process reads what was sent in the next turns of the event loop. A reset would discard it. */
async function untilRead(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

/** Writes byte by byte, or in at most `DRIBBLED_PIECES_MAX` pieces. */
async function dribble(client: Socket, chunk: Buffer): Promise<void> {
  const pieceBytes = Math.ceil(chunk.length / DRIBBLED_PIECES_MAX);
  for (let at = 0; at < chunk.length && !client.destroyed; at += pieceBytes) {
    client.write(chunk.subarray(at, at + pieceBytes));
    await setImmediate();
  }
}
