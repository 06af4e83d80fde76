import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { CollectedBytes } from './collected-bytes.ts';

/** Smaller chunks are joined, and counted. */
const SMALL_BYTES = 256;
/** A connection that has sent so many since its last turn waits for another one. Node's parser takes 1 µs for each. */
const MAX_PER_TURN = 2_000;
/** Interval between the turns of waiting connections. In a turn, Node reads at most 64 kB: 11,000 chunks of one byte. */
const TURN_MS = 200;
/** All connections together in one turn of the event loop. Beyond it, only the first one goes on. */
const MAX_IN_LOOP_TURN = 6_000;
/** Of a connection, for which it is not closed in a turn of the event loop with too many chunks. */
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

/** `HTTPParser.kOnBody`: Node's parser calls it with each part of a body, and skips the part without one (node_http_parser.cc). */
const ON_BODY = 3;

type OnBody = (this: unknown, chunk: Buffer) => unknown;

interface Parser {
  [ON_BODY]?: OnBody | undefined;
  onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number;
}

export type ParsedSocket = Socket & { readonly parser?: Parser | null };

/** What `onIncoming` returns for an upgrade: the rest of the read is not HTTP. */
export const SKIP_REST = 2;

/** Node's own function. Node uses a parser for one connection after the other. */
let parserOnBody: OnBody | undefined;

/** Waiting connections in the order of their turns. One for the process, because the process has one event loop. */
const held = new Set<HeldConnection>();
/** Connections to close, with the number of intervals that are left. */
const abandoned = new Map<HeldConnection, number>();
let timer: NodeJS.Timeout | undefined;

/** The chunks of one turn of the event loop. */
let loopTurn: { chunks: number; first: HeldConnection | undefined } | undefined;

/**
 * Joins the small chunks of a request's body before they are emitted: those of one read become one chunk. A connection
 * that sends very many is read only in its turn, so that all such connections together take a tenth of the CPU. If several
 * send very many in one turn of the event loop, the further ones are closed: what has been read must be parsed at once.
 */
export class JoinedChunks {
  readonly #connection: HeldConnection;
  #count = 0;
  /** The turn of the event loop in which `#loopCount` chunks came. */
  #loopTurn: typeof loopTurn;
  #loopCount = 0;
  /** Whether the parser counts the chunks. */
  #isWatching = false;

  constructor(connection: HeldConnection) {
    this.#connection = connection;
  }

  /** To be called before the body is read. Node's parser passes each chunk to `push`. */
  joinThoseOf(request: IncomingMessage): void {
    this.#watch(request.socket);
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
      // Its body is incomplete, and does not end.
      if (abandoned.has(this.#connection)) return true;
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
    };
  }

  /** Counts the chunks of bodies that Node drops, too: those of rejected requests. Until the connection is closed. */
  #watch(socket: ParsedSocket): void {
    const { parser } = socket;
    if (parser?.[ON_BODY]?.name === 'parserOnBody') parserOnBody = parser[ON_BODY];
    const add = parserOnBody;
    if (this.#isWatching || !parser || add === undefined) return;
    this.#isWatching = true;
    const onBody: OnBody = (chunk) => {
      if (chunk.length < SMALL_BYTES && socket.parser === parser) this.#countChunk();
      return add.call(parser, chunk);
    };
    parser[ON_BODY] = onBody;
    socket.prependOnceListener('close', () => {
      const isSkipped = socket.parser === parser && parser[ON_BODY] === undefined;
      if (isSkipped || parser[ON_BODY] === onBody) parser[ON_BODY] = add;
    });
  }

  #countChunk(): void {
    this.#countInLoopTurn();
    if (++this.#count < MAX_PER_TURN) return;
    this.#count = 0;
    if (held.has(this.#connection) || abandoned.has(this.#connection)) return;
    held.add(this.#connection);
    this.#connection.hold();
    timer ??= setInterval(giveTurn, TURN_MS).unref();
  }

  #countInLoopTurn(): void {
    if (loopTurn === undefined) {
      loopTurn = { chunks: 0, first: undefined };
      setImmediate(() => (loopTurn = undefined));
    }
    if (this.#loopTurn !== loopTurn) [this.#loopTurn, this.#loopCount] = [loopTurn, 0];
    loopTurn.chunks++;
    if (++this.#loopCount <= MAX_HARMLESS) return;
    const connection = this.#connection;
    loopTurn.first ??= connection;
    if (loopTurn.chunks <= MAX_IN_LOOP_TURN || loopTurn.first === connection || abandoned.has(connection)) return;
    held.delete(connection);
    abandoned.set(connection, CLOSED_AFTER_TURNS);
    connection.abandon();
    timer ??= setInterval(giveTurn, TURN_MS).unref();
  }
}

function giveTurn(): void {
  for (const [connection, turns] of abandoned) {
    if (turns > 0) abandoned.set(connection, turns - 1);
    else {
      abandoned.delete(connection);
      connection.close();
    }
  }
  for (const connection of held) {
    held.delete(connection);
    if (connection.isClosed) continue;
    connection.resume();
    return;
  }
  if (abandoned.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** Skips what was read from a connection: Node would take 1 µs for each of 11,000 chunks. Its request does not end. */
export function skipBody(socket: ParsedSocket): void {
  const { parser } = socket;
  if (!parser) return;
  // Until the connection is closed. Without an upgrade, Node does not use the parser again before.
  parser[ON_BODY] = undefined;
  parser.onIncoming = (request) => {
    request.upgrade = false;
    socket.destroy();
    return SKIP_REST;
  };
}
