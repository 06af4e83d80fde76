import type { Socket } from 'node:net';

/** Bytes taken from all connections in one turn of the event loop: half a millisecond's work or so. */
const TURN_BYTES = 500_000;
/** Chunks of less are not counted. */
const SMALL_BYTES = 8_192;

/**
 * Large replies are read no faster than the event loop can bear, however much of them has come: the rest of it waits in
 * the kernel, and so with its sender in the end.
 *
 * By `read` of the connection, under undici's parser, which reads whenever that is `readable`. To pause the parser itself
 * is no way: where the connection ends meanwhile it asserts that it is not paused (undici 7, client-h1.js, `finish`).
 */
export class ReadPace {
  #room = TURN_BYTES;
  #isBegun = false;
  readonly #waiting = new Set<Socket>();

  /** To be called once of each connection. */
  follow(socket: Socket): void {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size) => {
      if (size !== 0 && this.#room <= 0) {
        this.#waiting.add(socket);
        return null;
      }
      const chunk = read(size);
      if (chunk !== null && chunk.length >= SMALL_BYTES) this.#took(chunk.length);
      return chunk;
    };
  }

  #took(bytes: number): void {
    this.#room -= bytes;
    if (this.#isBegun) return;
    this.#isBegun = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#room = TURN_BYTES;
    this.#isBegun = false;
    for (const socket of this.#waiting) {
      this.#waiting.delete(socket);
      // Its parser reads on.
      socket.emit('readable');
      if (this.#room <= 0) return;
    }
  };
}

/** Of all upstreams: the process has one event loop. */
export const readPace = new ReadPace();
