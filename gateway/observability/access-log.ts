import type { Log } from '../config/log.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';

/** One line of the access log, for one HTTP request or one WebSocket message. Created only if ACCESS_LOG is on. */
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

  /** @param methods of the network by name; any other name is logged as `other`, because callers can write anything */
  setCalls({ isBatch, items }: Envelope, methods: { has(name: string): boolean }): void {
    const [first] = items;
    if (isBatch) this.#line.calls = items.length;
    else if (first !== undefined && 'method' in first)
      this.#line.method = methods.has(first.method) ? first.method : 'other';
  }

  /** Called once for each call. @param outcome the label that the metrics have */
  callEnded(outcome: string): void {
    this.#outcome = this.#outcome === undefined || this.#outcome === outcome ? outcome : 'mixed';
  }

  /** @param outcome of the whole request, if it ended before its calls */
  write(outcome = this.#outcome): void {
    const ms = Math.round((performance.now() - this.#startedAt) * 10) / 10;
    this.#log.info({ ...this.#line, outcome, ms }, 'request');
  }
}

/** @param log undefined: the access log is off */
export function openAccessLogEntry(log: Log | undefined, requestId: string): AccessLogEntry | undefined {
  return log === undefined ? undefined : new AccessLogEntry(log, requestId);
}
