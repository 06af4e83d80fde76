import type { IncomingMessage } from 'node:http';
import { CollectedBytes } from './collected-bytes.ts';

/** Smaller chunks are joined, and counted. */
const SMALL_BYTES = 256;
/** A connection that has sent so many since its last turn waits for another one. Node's parser takes 1 µs for each. */
const MAX_PER_TURN = 2_000;
/** Interval between the turns of waiting connections. In a turn, Node reads at most 64 kB: 11,000 chunks of one byte. */
const TURN_MS = 200;

/** A connection that can stop reading. */
export interface HeldConnection {
  readonly isClosed: boolean;
  hold(): void;
  /** Reads until it is held again. */
  resume(): void;
}

/** Waiting connections in the order of their turns. One for the process, because the process has one event loop. */
const held = new Set<HeldConnection>();
let timer: NodeJS.Timeout | undefined;

/**
 * Joins the small chunks of a request's body before they are emitted: those of one read become one chunk. A connection
 * that sends very many is read only in its turn, so that all such connections together take a tenth of the CPU.
 */
export class JoinedChunks {
  readonly #connection: HeldConnection;
  #count = 0;

  constructor(connection: HeldConnection) {
    this.#connection = connection;
  }

  /** To be called before the body is read. Node's parser passes each chunk to `push`. */
  joinThoseOf(request: IncomingMessage): void {
    const push = request.push.bind(request);
    let joined: CollectedBytes | undefined;
    const emitJoined = (): void => {
      if (joined === undefined) return;
      const bytes = joined.join();
      joined = undefined;
      // As Node's parser does when the body is not read.
      if (!push(bytes)) request.socket.pause();
    };
    request.push = (chunk: Buffer | null): boolean => {
      if (chunk !== null && chunk.length < SMALL_BYTES) {
        this.#countChunk();
        if (joined === undefined) {
          joined = new CollectedBytes();
          // Runs after all that was read at once is parsed.
          process.nextTick(emitJoined);
        }
        joined.add(chunk);
        return true;
      }
      emitJoined();
      return push(chunk);
    };
  }

  #countChunk(): void {
    if (++this.#count < MAX_PER_TURN) return;
    this.#count = 0;
    if (held.has(this.#connection)) return;
    held.add(this.#connection);
    this.#connection.hold();
    timer ??= setInterval(giveTurn, TURN_MS).unref();
  }
}

function giveTurn(): void {
  for (const connection of held) {
    held.delete(connection);
    if (connection.isClosed) continue;
    connection.resume();
    return;
  }
  clearInterval(timer);
  timer = undefined;
}
