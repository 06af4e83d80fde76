import { clock } from '../clock/clock.ts';
import { firstWithin, settled } from '../clock/first-within.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { sendTo } from './attempt.ts';
import type { Call } from './call.ts';
import type { SentAttempt } from './hedge.ts';

/** An attempt whose response is collected. */
export type Sent = SentAttempt<Outcome>;

/** Sends a call to several upstreams, to those that their limits permit. */
export async function sendToAll(
  call: Call,
  selected: readonly Upstream[],
  cancellation: Cancellation | undefined,
): Promise<Set<Sent>> {
  const admitted = await Promise.all(selected.map(async ({ limits }) => (await limits?.admit()) !== false));
  const upstreams = selected.filter((_, index) => admitted[index]);
  const startedAt = clock.now();
  call.tried = [...call.tried, ...upstreams];
  call.attempts += upstreams.length;
  call.sentAt = startedAt;
  const all = upstreams.map((upstream): Sent => {
    // The response to a transaction is short, and does not flow.
    const outcome = sendTo(call, upstream, cancellation, startedAt) as Promise<Outcome>;
    const sent: Sent = { upstream, startedAt, outcome, ended: settled(outcome, () => sent) };
    return sent;
  });
  return new Set(all);
}

/** The first one that ends within this time, which leaves the set. Undefined: none does, or the set is empty. */
export async function firstEnded(pending: Set<Sent>, waitMs: number): Promise<Sent | undefined> {
  const ends = [...pending].map(({ ended }) => ended);
  const sent = await firstWithin(ends, waitMs);
  if (sent !== undefined) pending.delete(sent);
  return sent;
}
