import type { Log } from '../config/log.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';

/** A line of the access log: what one request, or one message of a WebSocket, came to. Made only where ACCESS_LOG is on. */
export class AccessLogEntry {
  readonly #log: Log;
  readonly #startedAt = performance.now();
  readonly #line: { requestId: string; network?: string; key?: string; method?: string; calls?: number };
  #outcome: string | undefined;

  constructor(log: Log, requestId: string) {
    this.#log = log;
    this.#line = { requestId };
  }

  setNetwork(slug: string): void {
    this.#line.network = slug;
  }

  /** @param id of the key, never the key */
  setKey(id: string): void {
    this.#line.key = id;
  }

  /** @param methods by the network: other names are whatever a caller wrote, and are not shown */
  setCalls({ isBatch, items }: Envelope, methods: ReadonlyMap<string, unknown>): void {
    const [first] = items;
    if (isBatch) this.#line.calls = items.length;
    else if (first !== undefined && 'method' in first)
      this.#line.method = methods.has(first.method) ? first.method : 'other';
  }

  /** To be called for each call, with the outcome that metrics have, too. */
  callEnded(outcome: string): void {
    this.#outcome = this.#outcome === undefined || this.#outcome === outcome ? outcome : 'mixed';
  }

  /** @param outcome of the whole, where it did not come to its calls */
  write(outcome = this.#outcome): void {
    const ms = Math.round((performance.now() - this.#startedAt) * 10) / 10;
    this.#log.info({ ...this.#line, outcome, ms }, 'request');
  }
}

/** @param log undefined: there is no access log */
export function openAccessLogEntry(log: Log | undefined, requestId: string): AccessLogEntry | undefined {
  return log === undefined ? undefined : new AccessLogEntry(log, requestId);
}
