import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { CallRecord, RecordPrinter } from './call-record.ts';

interface AccessLogLine {
  requestId: string;
  network?: string;
  key?: string;
  method?: string;
  calls?: number;
  /** The upstream whose responses the calls got; `mixed`: several ones. */
  upstream?: string;
  cache?: string;
  /** Requests to upstreams. */
  attempts?: number;
  /** The permission, limit or bound that rejected the calls. */
  rule?: string;
}

/** One line of the access log, for one HTTP request or one WebSocket message. Created only if ACCESS_LOG is on. */
export class AccessLogEntry implements RecordPrinter {
  readonly #log: Log;
  readonly #startedAt = clock.now();
  readonly #line: AccessLogLine;
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

  limited(_method: string, rejection: RpcError): void {
    this.rejectedBy(rejection);
  }

  /** End of a call, or of a request that is no call. @param outcome the label that the metrics have */
  callEnded(outcome: string): void {
    this.#outcome = joined(this.#outcome, outcome);
  }

  /** Adds a call, with the parts of its range. */
  ended({ cache, attempts, parts, end }: CallRecord): void {
    const line = this.#line;
    if (cache !== undefined) line.cache = joined(line.cache, cache);
    for (const { upstream, outcome } of [attempts, ...parts.map((part) => part.attempts)].flat()) {
      line.attempts = (line.attempts ?? 0) + 1;
      if (outcome === 'response') line.upstream = joined(line.upstream, upstream);
    }
    if (end === undefined) return;
    this.callEnded(end.outcome);
    if (end.rejection !== undefined) this.rejectedBy(end.rejection);
  }

  /** Adds the permission, limit or bound of a rejection. */
  rejectedBy({ rule }: RpcError): void {
    if (rule !== undefined) this.#line.rule = joined(this.#line.rule, rule.name);
  }

  /** @param outcome of the whole request, if it ended before its calls */
  write(outcome = this.#outcome): void {
    const ms = Math.round((clock.now() - this.#startedAt) * 10) / 10;
    this.#log.info({ ...this.#line, outcome, ms }, 'request');
  }
}

/** The common value of several calls, or `mixed`. */
function joined(before: string | undefined, value: string): string {
  return before === undefined || before === value ? value : 'mixed';
}

/** @param log undefined: the access log is off */
export function openAccessLogEntry(log: Log | undefined, requestId: string): AccessLogEntry | undefined {
  return log === undefined ? undefined : new AccessLogEntry(log, requestId);
}
