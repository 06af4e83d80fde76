import type { Socket } from 'node:net';

/** More is written at once: what is held counts as unread until all of it is in the kernel. */
const MAX_HELD_BYTES = 65_536;

/** Small writes of one turn of the event loop leave together: one system call for each connection. */
class TurnWrites {
  #connections: Socket[] = [];

  /** To be called before a write of this many bytes. */
  hold(connection: Socket, bytes: number): void {
    const isHeld = connection.writableCorked > 0;
    if (connection.writableLength + bytes > MAX_HELD_BYTES) {
      if (isHeld) connection.uncork();
      return;
    }
    if (isHeld) return;
    connection.cork();
    if (this.#connections.push(connection) === 1) setImmediate(this.#release);
  }

  readonly #release = (): void => {
    const connections = this.#connections;
    this.#connections = [];
    for (const connection of connections) connection.uncork();
  };
}

export const turnWrites = new TurnWrites();
