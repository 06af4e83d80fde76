import { clock } from '../clock/clock.ts';
import { firstWithin, settled } from '../clock/first-within.ts';
import type { AttemptOutcome } from '../upstreams/outcome.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { needsConfirmation } from './confirm.ts';
import { recordOvertaken } from './record-attempt.ts';
import { selectHedge, takeHedge } from './select.ts';

type SendAttempt = (
  call: Call,
  upstream: Upstream,
  cancellation: Cancellation,
  startedAt: number,
  isHedge: boolean,
) => Promise<AttemptOutcome>;

/** An attempt of a call that is in progress beside others. */
export interface SentAttempt<Result extends AttemptOutcome = AttemptOutcome> {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly outcome: Promise<Result>;
  /** Resolves with this when the outcome is there, also if it rejects. */
  readonly ended: Promise<this>;
}

/** One of two attempts, of which the other one is cancelled when this one is used. */
interface HedgedAttempt extends SentAttempt {
  readonly cancellation: Cancellation;
}

/**
 * Sends a call to an upstream, and after a delay as a hedged request to a second one. The first conclusive response is used,
 * and the other attempt is cancelled.
 * @param delayMs from now; a multiple of 10, because Node keeps timers of equal length in one list
 * @throws Cancelled, RpcError (rejects with it)
 */
export async function sendHedged(
  call: Call,
  upstream: Upstream,
  delayMs: number,
  send: SendAttempt,
): Promise<AttemptOutcome> {
  const { metrics } = call.router.options;
  const first = start(call, upstream, send, false);
  let second: HedgedAttempt | undefined;
  try {
    if ((await firstWithin([first.ended], delayMs)) !== undefined) return await use(call, first);
    const hedge = selectHedge(call, clock.now());
    if (hedge === undefined || !(await isAdmitted(hedge, first)) || !takeHedge(call, hedge, clock.now()))
      return await use(call, first);
    call.isHedged = true;
    metrics.hedged('started');
    second = start(call, hedge, send, true);
    const quick = await Promise.race([first.ended, second.ended]);
    const slow = quick === first ? second : first;
    const outcome = await quick.outcome;
    if (outcome.final && !needsConfirmation(call, outcome.response, quick.upstream, quick.startedAt)) {
      // With a half-open circuit the attempt continues: its outcome closes or opens the circuit.
      if (slow.upstream.circuit.isClosed) {
        slow.cancellation.cancel();
        // A lost hedge is not recorded, because it started later.
        if (slow === first) recordOvertaken(call, first.upstream, first.startedAt);
      }
      metrics.hedged(quick === second ? 'won' : 'lost');
      return await use(call, quick);
    }
    if (!outcome.final) call.failed = [...call.failed, outcome];
    const last = await slow.outcome;
    const used = last.final || !outcome.final ? slow : quick;
    metrics.hedged(slow === second && (last.final || outcome.final) ? 'won' : 'lost');
    return await use(call, used);
  } catch (error) {
    if (!(error instanceof Cancelled)) for (const one of [first, second]) one?.cancellation.cancel();
    throw error;
  } finally {
    for (const one of [first, second]) if (one !== undefined) call.cancellation?.delete(one.cancellation);
  }
}

/** Whether the limits of the upstream permit the hedge before the first attempt ends. */
async function isAdmitted({ limits }: Upstream, { ended }: HedgedAttempt): Promise<boolean> {
  const admission = limits?.admit() ?? true;
  if (typeof admission === 'boolean') return admission;
  const isDecided = await Promise.race([ended.then(() => false), admission.then(() => true)]);
  if (isDecided) return admission;
  void admission.then((isLate) => {
    if (isLate) limits?.giveBack();
  });
  return false;
}

function start(call: Call, upstream: Upstream, send: SendAttempt, isHedge: boolean): HedgedAttempt {
  const startedAt = clock.now();
  const cancellation = new Cancellation(call.owner);
  call.cancellation?.add(cancellation);
  if (call.cancellation?.isCancelled === true) cancellation.cancel();
  const outcome = send(call, upstream, cancellation, startedAt, isHedge);
  const sent: HedgedAttempt = { upstream, startedAt, cancellation, outcome, ended: settled(outcome, () => sent) };
  return sent;
}

/** The outcome, of the upstream that the call names then. */
async function use(call: Call, { upstream, startedAt, outcome }: SentAttempt): Promise<AttemptOutcome> {
  const used = await outcome;
  call.respondingUpstream = upstream;
  call.sentAt = startedAt;
  return used;
}
