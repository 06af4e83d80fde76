import { createHash, createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { clock } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { SAME_MS, type GatewayEvent } from './event-list.ts';

const INTERVAL_MS = 5_000;
/** Longest pause after failures, of which each doubles it. */
const MAX_PAUSE_MS = 300_000;
const TIMEOUT_MS = 10_000;
/** Maximum events of a request. */
const MAX_EVENTS = 100;

export interface EventWebhook {
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
 * Sends events to a URL of the operator, at their begin and at their end, until the signal aborts. Those of a failed request are
 * sent again, as long as the list of events has them.
 */
export async function sendEvents(
  { url, secret, read, isFirst, log }: EventWebhook,
  signal: AbortSignal,
): Promise<void> {
  /** States that were sent, by event. Undefined: another worker sends. */
  let sent: Map<string, string> | undefined;
  let pauseMs = INTERVAL_MS;
  while (
    await clock.sleep(pauseMs, { ref: false, signal }).then(
      () => true,
      () => false,
    )
  ) {
    if (!isFirst()) {
      sent = undefined;
      continue;
    }
    try {
      // Younger events may still be found by other workers.
      const old = clock.unixMs() - SAME_MS;
      // Copies: events change while a request is in progress.
      const events = (await read())
        .filter(({ at }) => Date.parse(at) <= old)
        .map((event) => ({ ...event }))
        .reverse();
      // A worker that replaces the first one does not send what that one has sent.
      const known = (sent ??= statesOf(events.filter(({ at }) => Date.parse(at) < old - INTERVAL_MS)));
      const changed = events.filter((event) => known.get(nameOf(event)) !== stateOf(event)).slice(0, MAX_EVENTS);
      if (changed.length > 0) await post(changed, url, secret, signal);
      sent = statesOf(events.filter((event) => changed.includes(event) || known.get(nameOf(event)) === stateOf(event)));
      if (pauseMs > INTERVAL_MS) log.info('events are sent to EVENTS_WEBHOOK_URL again');
      pauseMs = INTERVAL_MS;
    } catch (error) {
      if (signal.aborted) return;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      if (pauseMs === INTERVAL_MS)
        log.warn({ error: errorCode(cause) }, 'events cannot be sent to EVENTS_WEBHOOK_URL: they are sent again later');
      pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs);
    }
  }
}

/** Sends a request that is signed as https://www.standardwebhooks.com has it. */
async function post(
  events: readonly GatewayEvent[],
  url: string,
  secret: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ gateway: hostname(), text: events.map(textOf).join('\n'), events });
  // A request that is sent again has the same id.
  const id = createHash('sha256').update(body).digest('hex').slice(0, 32);
  const at = String(Math.floor(clock.unixMs() / 1_000));
  const signature = secret && createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64');
  const headers = {
    ...{ 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': at },
    ...(signature !== undefined && { 'webhook-signature': `v1,${signature}` }),
  };
  const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = await fetch(url, { method: 'POST', headers, body, signal: until, redirect: 'manual' });
  await response.body?.cancel();
  if (!response.ok) throw Object.assign(new Error(), { code: `HTTP ${response.status}` });
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
