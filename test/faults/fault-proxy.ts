import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** How far an exchange gets: the connection, the request (kept from the node), or so much of the reply. */
export type Stage = 'accept' | 'request' | 'reply' | 'headers' | 'body-start' | 'body';

/** `vanish`: the far end fell off; nothing passes any more, and nobody is told. `dribble`: replies come byte by byte. */
export type WireFault =
  | { readonly kind: 'refuse' | 'vanish' | 'dribble' }
  | { readonly kind: 'reset' | 'close' | 'hang'; readonly at: Stage };

/** A wire to a node that fails in the ways in which wires do. */
export interface FaultProxy {
  readonly port: number;
  /** What becomes of connections and of what is sent over them from now on; undefined: all is well again. */
  fail(fault: WireFault | undefined): Promise<void>;
  close(): Promise<void>;
}

/** What was sent may still be on its way: a reset must not overtake it. */
const FLUSH_MS = 5;
const DRIBBLED_PIECES_MAX = 500;

export async function startFaultProxy(calleePort: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  /** Callers of whose exchange something was lost: when all is well again they are cut off, as by a node that came back. */
  const stuck = new Set<Socket>();
  let fault: WireFault | undefined;
  let server: Server | undefined;
  let port = 0;

  async function listen(): Promise<void> {
    if (server !== undefined) return;
    server = createServer(accept).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  function accept(caller: Socket): void {
    keep(caller);
    if (failsAt('accept')) {
      end(caller);
      return;
    }
    const callee = connect(calleePort, '127.0.0.1');
    keep(callee);
    let isCut = false;
    let dribbling = Promise.resolve();
    let dribbled = 0;
    caller.on('close', () => callee.destroy());
    callee.on('close', () => {
      if (!isCut && fault?.kind !== 'vanish') caller.end();
    });
    caller.on('data', (chunk) => {
      if (fault?.kind === 'vanish') stuck.add(caller);
      else if (failsAt('request')) end(caller);
      else callee.write(chunk);
    });
    callee.on('data', (chunk) => {
      if (fault?.kind === 'vanish') stuck.add(caller);
      if (isCut || stuck.has(caller) || caller.destroyed) return;
      const passes = bytesThatPass(fault, chunk);
      if (passes === undefined) {
        if (fault?.kind !== 'dribble' && dribbled === 0) caller.write(chunk);
        else {
          dribbled++;
          dribbling = dribbling.then(() => dribble(caller, chunk)).finally(() => dribbled--);
        }
        return;
      }
      isCut = true;
      caller.write(chunk.subarray(0, passes));
      setTimeout(() => {
        end(caller);
      }, FLUSH_MS);
    });
  }

  function keep(socket: Socket): void {
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

  /** As the fault of now has it; a connection that hangs is left as it is. */
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

/** How much of a reply is let through before the fault; undefined: all of it, since there is none. */
function bytesThatPass(fault: WireFault | undefined, response: Buffer): number | undefined {
  if (fault === undefined || !('at' in fault)) return undefined;
  const bodyAt = response.indexOf('\r\n\r\n') + 4;
  switch (fault.at) {
    case 'reply':
      return 0;
    case 'headers':
      return Math.floor(bodyAt / 2);
    case 'body-start':
      return bodyAt;
    case 'body':
      return Math.floor((bodyAt + response.length) / 2);
    // The reply to a request that passed before the fault.
    default:
      return undefined;
  }
}

/** Byte by byte; what is large, in so many pieces. */
async function dribble(caller: Socket, chunk: Buffer): Promise<void> {
  const bytes = Math.ceil(chunk.length / DRIBBLED_PIECES_MAX);
  for (let at = 0; at < chunk.length && !caller.destroyed; at += bytes) {
    caller.write(chunk.subarray(at, at + bytes));
    await setImmediate();
  }
}
