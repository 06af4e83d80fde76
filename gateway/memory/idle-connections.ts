import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { areBoundsCounted } from './counted-bounds.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** Promised to clients. Longer than the usual idle timeout of load balancers (60 s), so that they close first. */
export const KEEP_ALIVE_S = 65;
const SWEEP_INTERVAL_MS = 5_000;
/** Sweeps without activity before a connection is closed. The first of them may follow its last response at once. */
const MAX_IDLE_SWEEPS = (KEEP_ALIVE_S * 1_000) / SWEEP_INTERVAL_MS + 1;
/** Connections that are looked at to find one that may be closed. */
const MAX_LOOKED_AT = 16;

/** A connection as Node's own handlers use it: `_httpMessage` is the pending response. */
type ClientSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/** What the last sweep found. */
interface IdleRecord {
  bytesRead: number;
  idleSweeps: number;
}

/**
 * Bounds the connections on which no request is in progress, by number and by time: each takes 5 kB, and 23 kB while the
 * head of a request arrives. Above the maximum, each new connection closes an old one. Sweeps close those that were idle
 * for 65 to 75 s. Node's own timer would be set twice for each request.
 */
export class IdleConnections {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  /** The oldest first, except for those that were in use when they were looked at. */
  readonly #open = new Map<ClientSocket, IdleRecord>();
  /** Undefined while there is no connection. */
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number, memory: MemoryBudget) {
    this.#max = areBoundsCounted ? max : Infinity;
    this.#memory = memory;
    memory.guard?.addRelief(() => {
      this.#closeUnused();
    });
  }

  add(connection: ClientSocket): void {
    this.#open.set(connection, { bytesRead: 0, idleSweeps: 0 });
    if (this.#open.size > this.#max) this.#closeOne();
    // After pending input is read: a connection with an unread request also looks idle.
    this.#timer ??= setInterval(() => {
      setImmediate(() => void this.#sweep());
    }, SWEEP_INTERVAL_MS).unref();
  }

  /** The connection is closed, or a WebSocket. */
  delete(connection: ClientSocket): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #closeOne(): void {
    let lookedAt = 0;
    for (const [connection, found] of this.#open) {
      if (++lookedAt > MAX_LOOKED_AT) return;
      this.#open.delete(connection);
      if (!isInUse(connection)) {
        this.#memory.counts.connection++;
        connection.destroy();
        return;
      }
      this.#open.set(connection, found);
    }
  }

  /** Closes connections whose first head has arrived in part: a client that is served sends it at once. */
  #closeUnused(): void {
    for (const connection of this.#open.keys()) {
      if (isInUse(connection) || connection.bytesRead === 0 || connection.bytesWritten > 0) continue;
      this.#memory.counts.connection++;
      connection.destroy();
    }
  }

  /** In time slices. A connection of which bytes arrived since the last sweep is not idle: Node limits their time. */
  async #sweep(): Promise<void> {
    for (const [connection, found] of this.#open) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      const { bytesRead } = connection;
      if (isInUse(connection) || bytesRead !== found.bytesRead) found.idleSweeps = 0;
      else if (++found.idleSweeps >= MAX_IDLE_SWEEPS) connection.destroy();
      found.bytesRead = bytesRead;
    }
  }
}

function isInUse({ _httpMessage: pending }: ClientSocket): boolean {
  return pending !== undefined && pending !== null;
}
