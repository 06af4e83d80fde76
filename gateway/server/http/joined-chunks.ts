import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { clock, type Timer } from '../../clock/clock.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import { Burst } from './burst.ts';
import { divertBody, watchBodies } from './node-internals.ts';

/** Smaller chunks are joined, and counted. */
const SMALL_BYTES = 256;
/** A connection that has sent so many since its last turn waits for another one. Node's parser takes 1 µs for each. */
const MAX_PER_TURN = 2_000;
/** Interval between the turns of waiting connections. In a turn, Node reads at most 64 kB: 11,000 chunks of one byte. */
const TURN_MS = 200;
/** All connections together in 100 ms. Beyond it, only the first one goes on. */
const MAX_IN_BURST = 6_000;
/** Of a connection, for which it is not closed in a burst. */
const MAX_HARMLESS = 64;
/** A connection is closed after so many intervals, and not at once: its client would send the same on a new one. */
const CLOSED_AFTER_TURNS = 5;

/** A connection that can stop reading. */
export interface HeldConnection {
  readonly isClosed: boolean;
  hold(): void;
  /** Reads until it is held again. */
  resume(): void;
  /** Stops parsing what was read, and reading. */
  abandon(): void;
  close(): void;
}

/** Connections in the order of their turns. One for the process, because the process has one event loop. */
const waiting = new Set<JoinedChunks>();
let timer: Timer | undefined;

const burst = new Burst<JoinedChunks>(MAX_IN_BURST);

/**
 * Joins the small chunks of a request's body before they are emitted: those of one read become one chunk. A connection
 * that sends very many is read only in its turn, so that all such connections together take a tenth of the CPU. If several
 * send very many in 100 ms, the further ones are closed: what has been read must be parsed at once.
 */
export class JoinedChunks {
  readonly #connection: HeldConnection;
  #count = 0;
  /** In a period of the burst. */
  #period = 0;
  #periodCount = 0;
  /** Whether the parser counts the chunks: those of bodies that Node drops, too. */
  #isWatching = false;
  /** Intervals until the connection is closed; undefined: it is not abandoned. */
  #turnsLeft: number | undefined;

  constructor(connection: HeldConnection) {
    this.#connection = connection;
  }

  /** To be called before the body is read. */
  joinThoseOf(request: IncomingMessage): void {
    this.#watch(request.socket);
    let joined: CollectedBytes | undefined;
    const emitJoined = (): void => {
      if (joined === undefined) return;
      const bytes = joined.join();
      joined = undefined;
      // As Node's parser does when the body is not read.
      if (!push(bytes)) request.socket.pause();
    };
    const push = divertBody(request, (chunk) => {
      // Its body is incomplete, and does not end.
      if (this.#turnsLeft !== undefined) return true;
      if (chunk !== null && chunk.length < SMALL_BYTES) {
        if (!this.#isWatching) this.#countChunk();
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
    });
  }

  /** @returns whether it has used its turn: no other connection has one in this interval */
  takeInterval(hasTurn: boolean): boolean {
    if (this.#turnsLeft === undefined) {
      if (!hasTurn) return false;
      waiting.delete(this);
      if (this.#connection.isClosed) return false;
      this.#connection.resume();
      return true;
    }
    if (this.#turnsLeft-- > 0) return false;
    this.#turnsLeft = undefined;
    waiting.delete(this);
    this.#connection.close();
    return false;
  }

  #watch(socket: Socket): void {
    this.#isWatching ||= watchBodies(socket, (bytes) => {
      if (bytes < SMALL_BYTES) this.#countChunk();
    });
  }

  #countChunk(): void {
    this.#countInPeriod();
    if (++this.#count < MAX_PER_TURN) return;
    this.#count = 0;
    if (waiting.has(this)) return;
    this.#wait();
    this.#connection.hold();
  }

  #countInPeriod(): void {
    burst.add();
    if (this.#period !== burst.period) [this.#period, this.#periodCount] = [burst.period, 0];
    if (++this.#periodCount <= MAX_HARMLESS || !burst.isOver(this) || this.#turnsLeft !== undefined) return;
    this.#turnsLeft = CLOSED_AFTER_TURNS;
    this.#wait();
    this.#connection.abandon();
  }

  #wait(): void {
    waiting.add(this);
    timer ??= clock.setInterval(giveTurn, TURN_MS).unref();
  }
}

/** To the first connection that waits for one. Those that are abandoned come closer to their end. */
function giveTurn(): void {
  let hasTurn = true;
  for (const chunks of waiting) if (chunks.takeInterval(hasTurn)) hasTurn = false;
  if (waiting.size > 0) return;
  clock.clearInterval(timer);
  timer = undefined;
}
