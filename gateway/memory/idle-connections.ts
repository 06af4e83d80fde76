import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { MemoryBudget } from './memory-budget.ts';

/** Connections that are looked at to find one that may be closed. */
const MAX_LOOKED_AT = 16;

/** A connection as Node's own handlers use it: `_httpMessage` is the pending response. */
type Connection = Duplex & { readonly _httpMessage?: ServerResponse | null };

/**
 * Bounds the connections on which no request is in progress: each takes 5 kB, and 23 kB while the head of a request
 * arrives. Above the maximum, each new connection closes an old one.
 */
export class IdleConnections {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  /** The oldest first, except for those that were in use when they were looked at. */
  readonly #open = new Set<Connection>();

  constructor(max: number, memory: MemoryBudget) {
    this.#max = max;
    this.#memory = memory;
  }

  add(connection: Connection): void {
    this.#open.add(connection);
    if (this.#open.size > this.#max) this.#closeOne();
  }

  /** The connection is closed, or a WebSocket. */
  delete(connection: Connection): void {
    this.#open.delete(connection);
  }

  #closeOne(): void {
    let lookedAt = 0;
    for (const connection of this.#open) {
      if (++lookedAt > MAX_LOOKED_AT) return;
      this.#open.delete(connection);
      if (!isInUse(connection)) {
        this.#memory.counts.connection++;
        connection.destroy();
        return;
      }
      this.#open.add(connection);
    }
  }
}

function isInUse({ _httpMessage: pending }: Connection): boolean {
  return pending !== undefined && pending !== null;
}
