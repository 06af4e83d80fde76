import type { Socket } from 'node:net';
import { clock, type Timer } from '../../clock/clock.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { areBoundsCounted } from '../../memory/counted-bounds.ts';
import { ClientConnection, type ConnectionOptions, type RequestHandler } from './client-connection.ts';

const CHECK_INTERVAL_MS = 1_000;
/** Connections that are looked at to find one that may be closed. */
const MAX_LOOKED_AT = 16;

/**
 * The open connections of one server, which are checked every second. Bounds those on which no request is in progress, by
 * number and by time: each takes 5 kB, and 23 kB while the head of a request arrives. Above the maximum, each new
 * connection closes an old one. One that is idle for 65 s is closed. Node's own timer would be set twice for each request.
 */
export class ClientConnections {
  readonly #options: ConnectionOptions;
  readonly #handle: RequestHandler;
  readonly #max: number;
  /** Connections over HTTP, the oldest first, except for those that were in use when they were looked at. */
  readonly #open = new Set<ClientConnection>();
  readonly #upgraded = new Set<ClientConnection>();
  /** Timer of the checks; undefined while there is no connection over HTTP. */
  #timer: Timer | undefined;

  constructor(options: ConnectionOptions, handle: RequestHandler) {
    this.#options = options;
    this.#handle = handle;
    this.#max = areBoundsCounted ? options.connectionsMax : Infinity;
    options.memory.guard?.addRelief((owner, pressure) => {
      for (const connection of this.#open) {
        const isOfOwner = owner !== undefined && pressure === 'critical' && connection.mayCloseFor(owner);
        if (isOfOwner) connection.socket.destroy();
        else if (connection.isUnused) connection.close();
      }
    });
  }

  add(socket: Socket): ClientConnection {
    const connection = new ClientConnection(socket, this.#options, this.#handle);
    this.#open.add(connection);
    socket.once('close', () => {
      this.#upgraded.delete(connection);
      this.#delete(connection);
    });
    if (this.#open.size > this.#max) this.#closeOne();
    // After pending input is read: a connection with an unread request also looks idle.
    this.#timer ??= clock
      .setInterval(() => {
        clock.setImmediate(() => void this.#check());
      }, CHECK_INTERVAL_MS)
      .unref();
    return connection;
  }

  /** The connection is a WebSocket from now on. */
  upgraded(connection: ClientConnection): void {
    this.#delete(connection);
    this.#upgraded.add(connection);
  }

  /** Connections over HTTP. */
  get open(): Iterable<ClientConnection> {
    return this.#open;
  }

  /** Sockets of all connections, those that are WebSockets included. */
  get sockets(): readonly Socket[] {
    return [...this.#open, ...this.#upgraded].map(({ socket }) => socket);
  }

  /** Resolves when no connection is open. */
  async allClosed(): Promise<void> {
    while (this.#open.size + this.#upgraded.size > 0) {
      const [connection] = this.#open.size > 0 ? this.#open : this.#upgraded;
      await new Promise((resolve) => connection?.socket.once('close', resolve));
    }
  }

  #delete(connection: ClientConnection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clock.clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #closeOne(): void {
    let lookedAt = 0;
    for (const connection of this.#open) {
      if (++lookedAt > MAX_LOOKED_AT) return;
      this.#open.delete(connection);
      if (!connection.isInUse) {
        connection.close();
        return;
      }
      this.#open.add(connection);
    }
  }

  /** Checks the connections, in time slices. */
  async #check(): Promise<void> {
    for (const connection of this.#open) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      connection.check();
    }
  }
}
