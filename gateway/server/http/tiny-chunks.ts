import type { IncomingMessage } from 'node:http';
import { clock } from '../../clock/clock.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';

/** Smaller chunks are joined, and counted. */
const TINY_BYTES = 256;
const PERIOD_MS = 200;
/** Tiny chunks of all connections in a period. Node's parser takes 1 µs for each. */
const MAX_IN_PERIOD = 6_000;
/** Tiny chunks of one connection in a period, for which it is not closed. */
const MAX_HARMLESS = 64;
/** A connection is not closed at once: its client would send the same on a new one. */
const CLOSE_AFTER_MS = 1_000;

/** A connection that can stop reading. */
export interface HeldConnection {
  hold(): void;
  /** Reads until it is held again. */
  resume(): void;
  /** Stops parsing what was read, and reading. */
  abandon(): void;
  close(): void;
}

/** Tiny chunks of this period, by connection. One table for the process, because the process has one event loop. */
const counts = new Map<HeldConnection, number>();
let total = 0;
/** The first connection with more than harmless chunks. It is read again in the next period. */
let first: HeldConnection | undefined;

/**
 * Joins the tiny chunks of a body before they are emitted: those of one read become one chunk. If all connections together have
 * sent very many in 200 ms, the first one is not read for the rest of that time, and the others are closed. One read has 11,000
 * chunks of one byte, which Node parses at once. To be called before the body is read.
 */
export function boundTinyChunks(request: IncomingMessage, connection: HeldConnection): void {
  let joined: CollectedBytes | undefined;
  let isAbandoned = false;
  const push = request.push.bind(request);
  const emitJoined = (): void => {
    if (joined === undefined) return;
    const bytes = joined.join();
    joined = undefined;
    // As Node's parser does when the body is not read.
    if (!push(bytes)) request.socket.pause();
  };
  request.push = (chunk: Buffer | null) => {
    // Its body is incomplete, and does not end.
    if (isAbandoned) return true;
    if (chunk !== null && chunk.length < TINY_BYTES) {
      isAbandoned = isTooMany(connection);
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

/** @returns whether the connection is abandoned now */
function isTooMany(connection: HeldConnection): boolean {
  if (total++ === 0) clock.setTimeout(endPeriod, PERIOD_MS).unref();
  const own = (counts.get(connection) ?? 0) + 1;
  counts.set(connection, own);
  if (own <= MAX_HARMLESS) return false;
  first ??= connection;
  if (total <= MAX_IN_PERIOD) return false;
  if (connection === first) {
    connection.hold();
    return false;
  }
  connection.abandon();
  clock
    .setTimeout(() => {
      connection.close();
    }, CLOSE_AFTER_MS)
    .unref();
  return true;
}

function endPeriod(): void {
  first?.resume();
  first = undefined;
  total = 0;
  counts.clear();
}
