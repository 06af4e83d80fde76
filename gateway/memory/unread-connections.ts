import type { Socket } from 'node:net';
import type { Holder } from './holder.ts';
import type { MemoryBudget } from './memory-budget.ts';

const CHECK_INTERVAL_MS = 1_000;
/** Consecutive checks without progress before a connection is closed if the memory budget has no byte for its holder. */
const MAX_STALLED_CHECKS_EXHAUSTED = 5;

interface Watched {
  readonly holder: Holder;
  readonly maxStalledChecks: number;
  readonly close: () => void;
  sent: number;
  stalledChecks: number;
}

/**
 * Closes connections whose clients do not read their responses: after a given time, and after 5 s if the memory budget
 * has no byte left for their holder. A client that reads slowly makes progress and stays connected. One timer for all.
 */
export class UnreadConnections {
  readonly #memory: MemoryBudget;
  readonly #watched = new Map<Socket, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /**
   * Watches a connection with unread bytes until it has none.
   * @param maxStalledMs Infinity: the connection is closed only if the budget has no byte for its holder
   */
  watch(socket: Socket, holder: Holder, maxStalledMs: number, close: () => void): void {
    if (this.#watched.has(socket)) return;
    const maxStalledChecks = maxStalledMs / CHECK_INTERVAL_MS;
    this.#watched.set(socket, { holder, maxStalledChecks, close, sent: sentBytes(socket), stalledChecks: 0 });
    this.#timer ??= setInterval(() => {
      this.#check();
    }, CHECK_INTERVAL_MS).unref();
  }

  #check(): void {
    for (const [socket, watched] of this.#watched) {
      if (socket.destroyed || socket.writableLength === 0) this.#watched.delete(socket);
      else if (this.#isStalled(socket, watched)) {
        this.#memory.counts.connection++;
        this.#watched.delete(socket);
        watched.close();
      }
    }
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #isStalled(socket: Socket, watched: Watched): boolean {
    const sent = sentBytes(socket);
    watched.stalledChecks = sent === watched.sent ? watched.stalledChecks + 1 : 0;
    watched.sent = sent;
    if (watched.stalledChecks >= watched.maxStalledChecks) return true;
    return watched.stalledChecks >= MAX_STALLED_CHECKS_EXHAUSTED && this.#memory.isExhaustedFor(watched.holder);
  }
}

/** Bytes that were written to the operating system. Node's socket timeout reads the same member of the handle. */
export function sentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
}
