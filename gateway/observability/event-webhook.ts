import { createHash, createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { clock, type Timer } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { SAME_MS, type GatewayEvent } from './event-list.ts';

const INTERVAL_MS = 5_000;
/** Longest pause after failures, of which each doubles it. */
const MAX_PAUSE_MS = 300_000;
const TIMEOUT_MS = 10_000;
/** Maximum events of a request. */
const MAX_EVENTS = 100;

export interface EventWebhookOptions {
  readonly url: string;
  /** Key of the signatures; undefined: requests have none. */
  readonly secret: string | undefined;
  /** Reads the events of all workers, the latest first. */
  readonly read: () => Promise<readonly GatewayEvent[]>;
  /** Whether this process sends the events of all workers. */
  readonly isFirst: () => boolean;
  readonly log: Log;
}

/**
 * Sends events to a URL of the operator, at their begin and at their end, one request at a time. Those of a failed request are
 * sent again, as long as the list of events has them.
 */
export class EventWebhook {
  readonly #options: EventWebhookOptions;
  readonly #timer: Timer;
  /** States that were sent, by event. Undefined: another worker sends. */
  #sent: Map<string, string> | undefined;
  #isSending = false;
  #pauseMs = INTERVAL_MS;
  #nextAt = -Infinity;

  constructor(options: EventWebhookOptions) {
    this.#options = options;
    this.#timer = clock.setInterval(() => void this.#next(), INTERVAL_MS).unref();
  }

  close(): void {
    clock.clearInterval(this.#timer);
  }

  async #next(): Promise<void> {
    const { isFirst, log } = this.#options;
    if (!isFirst()) this.#sent = undefined;
    if (this.#isSending || !isFirst() || clock.now() < this.#nextAt) return;
    this.#isSending = true;
    try {
      await this.#send();
      if (this.#pauseMs > INTERVAL_MS) log.info('events are sent to EVENTS_WEBHOOK_URL again');
      this.#pauseMs = INTERVAL_MS;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      if (this.#pauseMs === INTERVAL_MS)
        log.warn({ error: errorCode(cause) }, 'events cannot be sent to EVENTS_WEBHOOK_URL: they are sent again later');
      this.#pauseMs = Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
      this.#nextAt = clock.now() + this.#pauseMs;
    } finally {
      this.#isSending = false;
    }
  }

  async #send(): Promise<void> {
    // Younger events may still be found by other workers.
    const old = clock.unixMs() - SAME_MS;
    const events = (await this.#options.read()).filter(({ at }) => Date.parse(at) <= old).reverse();
    // A worker that replaces the first one does not send what that one has sent.
    const sent = (this.#sent ??= statesOf(events.filter(({ at }) => Date.parse(at) < old - INTERVAL_MS)));
    const isNew = (event: GatewayEvent): boolean => sent.get(nameOf(event)) !== stateOf(event);
    const changed = events.filter(isNew).slice(0, MAX_EVENTS);
    if (changed.length > 0) await this.#post(changed);
    for (const event of changed) sent.set(nameOf(event), stateOf(event));
    const names = new Set(events.map(nameOf));
    for (const name of sent.keys()) if (!names.has(name)) sent.delete(name);
  }

  /** Sends a request that is signed as https://www.standardwebhooks.com has it. */
  async #post(events: readonly GatewayEvent[]): Promise<void> {
    const { url, secret } = this.#options;
    const text = events.map(textOf).join('\n');
    const body = JSON.stringify({ gateway: hostname(), text, events });
    // A request that is sent again has the same id.
    const id = createHash('sha256').update(body).digest('hex').slice(0, 32);
    const at = Math.floor(clock.unixMs() / 1_000);
    const signature = secret && createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      ...{ 'webhook-id': id, 'webhook-timestamp': `${at}` },
      ...(signature !== undefined && { 'webhook-signature': `v1,${signature}` }),
    };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await response.body?.cancel();
    if (!response.ok) throw Object.assign(new Error(), { code: `HTTP ${response.status}` });
  }
}

function statesOf(events: readonly GatewayEvent[]): Map<string, string> {
  return new Map(events.map((event) => [nameOf(event), stateOf(event)]));
}

function nameOf({ kind, network, upstream, at, endedAt, reason, by }: GatewayEvent): string {
  return JSON.stringify([kind, network, upstream, at, ...(endedAt === undefined ? [reason, by] : [])]);
}

function stateOf({ endedAt, count }: GatewayEvent): string {
  return `${endedAt} ${count}`;
}

/** Line such as `upstream five node-0: connection refused, ended after 90 s`. */
function textOf({ kind, network, upstream, reason, by, endedAt, forS }: GatewayEvent): string {
  const subject = [kind, network, upstream].filter((part) => part !== undefined).join(' ');
  const end = typeof endedAt === 'string' ? `, ended after ${forS} s` : '';
  return `${subject}: ${reason}${by === undefined ? '' : `, by ${by}`}${end}`;
}
