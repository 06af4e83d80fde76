import { createHash, createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import { clock } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { mergedNameOf, SAME_MS, type GatewayEvent } from './event-list.ts';

const INTERVAL_MS = 5_000;
/** Longest pause after failures, of which each doubles it. */
const MAX_PAUSE_MS = 300_000;
/** Time before its first request from which a worker sends changes: the worker before it may not have sent them. */
const OVERLAP_MS = 300_000;
const TIMEOUT_MS = 10_000;

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
 * Sends events to a URL of the operator, each at its begin and at its end, until the signal aborts. An event whose request
 * failed is sent again, as long as the list of events has it.
 */
export async function sendEvents(
  { url, secret, read, isFirst, log }: EventWebhook,
  signal: AbortSignal,
): Promise<void> {
  /** State that was sent of each event on the list; undefined: none. */
  let sent = new Map<string, string | undefined>();
  /** Time before which changes were sent, but for those of events in `sent`. Undefined: another worker sends. */
  let since: number | undefined;
  let pauseMs = INTERVAL_MS;
  for (;;) {
    const end = await clock.sleep(pauseMs, { ref: false, signal }).catch(() => 'stopped');
    if (end === 'stopped') return;
    if (!isFirst()) {
      [since, pauseMs] = [undefined, INTERVAL_MS];
      continue;
    }
    const now = clock.unixMs();
    since ??= now - OVERLAP_MS;
    try {
      // Newer events may still be found by other workers.
      const events = (await read()).filter(({ at }) => Date.parse(at) <= now - SAME_MS).reverse();
      sent = new Map(events.map(nameOf).map((name) => [name, sent.get(name)]));
      for (const event of events) {
        const [name, state] = [nameOf(event), stateOf(event)];
        const known = sent.get(name);
        const changedAt = event.endedAt === null ? now : Date.parse(event.endedAt ?? event.at);
        if (known === state || (known === undefined && changedAt < since)) continue;
        await post(event, url, secret, signal);
        sent.set(name, state);
        // A receiver that limits requests gets the next ones soon.
        pauseMs = Math.min(pauseMs, 2 * INTERVAL_MS);
      }
      since = now - OVERLAP_MS;
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
async function post(event: GatewayEvent, url: string, secret: string | undefined, signal: AbortSignal): Promise<void> {
  const gateway = hostname();
  const body = JSON.stringify({ gateway, text: textOf(event), event });
  // The body changes each second; the same state of the same event has the same id.
  const id = createHash('sha256')
    .update(JSON.stringify([gateway, nameOf(event), stateOf(event)]))
    .digest('hex')
    .slice(0, 32);
  const at = String(Math.floor(clock.unixMs() / 1_000));
  // The libraries of Standard Webhooks read such a key as base64.
  const key = secret?.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signature = key && createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': at,
    ...(signature !== undefined && { 'webhook-signature': `v1,${signature}` }),
  };
  const limit = new AbortController();
  const timer = clock.setTimeout(() => {
    limit.abort(Object.assign(new Error(), { code: 'ETIMEDOUT' }));
  }, TIMEOUT_MS);
  try {
    const until = AbortSignal.any([signal, limit.signal]);
    const response = await fetch(url, { method: 'POST', headers, body, signal: until, redirect: 'manual' });
    await response.body?.cancel();
    if (!response.ok) throw Object.assign(new Error(), { code: `HTTP ${response.status}` });
  } finally {
    clock.clearTimeout(timer);
  }
}

function nameOf(event: GatewayEvent): string {
  return JSON.stringify([mergedNameOf(event), event.at]);
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
