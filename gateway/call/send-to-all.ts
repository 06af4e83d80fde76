import { clock, type Timer } from '../clock/clock.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { sendTo } from './attempt.ts';
import type { Call } from './call.ts';

/** A call in progress at one of several upstreams. */
export interface Sent {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly outcome: Promise<Outcome>;
  /** Resolves with this when the outcome is there, also if it rejects. */
  readonly ended: Promise<Sent>;
}

/** Sends a call to several upstreams. */
export function sendToAll(
  call: Call,
  upstreams: readonly Upstream[],
  cancellation: Cancellation | undefined,
): Set<Sent> {
  const startedAt = clock.now();
  call.tried = [...call.tried, ...upstreams];
  call.attempts += upstreams.length;
  call.sentAt = startedAt;
  const all = upstreams.map((upstream): Sent => {
    // The response to a transaction is short, and does not flow.
    const outcome = sendTo(call, upstream, cancellation) as Promise<Outcome>;
    const sent: Sent = {
      ...{ upstream, startedAt, outcome },
      ended: outcome.then(
        () => sent,
        () => sent,
      ),
    };
    return sent;
  });
  return new Set(all);
}

/** The first one that ends within this time, which leaves the set. Undefined: none does, or the set is empty. */
export async function firstEnded(pending: Set<Sent>, waitMs: number): Promise<Sent | undefined> {
  if (waitMs <= 0 || (pending.size === 0 && waitMs === Infinity)) return undefined;
  const ends = [...pending].map(({ ended }) => ended);
  if (waitMs === Infinity) return takeFrom(pending, await Promise.race(ends));
  let timer: Timer | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = clock.setTimeout(() => {
      // After a stall of the event loop, responses may have arrived that are not read yet.
      clock.setImmediate(() => {
        resolve(undefined);
      });
    }, waitMs);
  });
  try {
    return takeFrom(pending, await Promise.race([...ends, timeout]));
  } finally {
    clock.clearTimeout(timer);
  }
}

function takeFrom(pending: Set<Sent>, sent: Sent | undefined): Sent | undefined {
  if (sent !== undefined) pending.delete(sent);
  return sent;
}
