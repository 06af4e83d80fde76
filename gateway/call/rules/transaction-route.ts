import { clock } from '../../clock/clock.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { sendsTransactions } from '../../spec/method-facts.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import { MIN_ATTEMPT_MS, type UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import { RawTransaction } from '../../upstreams/transactions/raw-transaction.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Call } from '../call.ts';
import { responseOfFailures } from '../exhausted.ts';
import { countIgnored } from '../record-attempt.ts';
import type { Router } from '../router.ts';
import { selectAll } from '../select.ts';
import { firstEnded, sendToAll, type Sent } from '../send-to-all.ts';
import type { Rule, RuleAccess } from './rule.ts';

/** An upstream with this many transactions without a response, whose callers have theirs, gets no further one at once. */
const MAX_UNFINISHED = 100;

const NO_RELAY =
  'transactions of this project id are private, and this network has no relay for this method: use another network or project id';

/** The upstreams that get a transaction if none of the relays has responded after this time. */
interface Fallback {
  readonly afterMs: number;
  readonly upstreams: readonly Upstream[];
}

/** Transactions go to all upstreams at once, or only to relays, by `transactions` and `private` of the network and the key. */
export function transactionRoute(method: MethodSpec, router: Router, access: RuleAccess): Rule<Call> | undefined {
  if (access === 'private') return sendsTransactions(method.name) ? toRelays(method, router) : undefined;
  // An operation that two bundlers have may be paid for twice.
  const mayBeSentToAll = method.sends === true && method.sendsOperation !== true;
  const isAtOnce = mayBeSentToAll && router.options.transactions !== 'first';
  return isAtOnce ? { before: (call) => sendAtOnce(call, undefined) } : undefined;
}

function toRelays({ name, sends }: MethodSpec, { all, options }: Router): Rule<Call> {
  const { permitted, relays: { upstreams: names = [], fallbackAfterMs: afterMs } = {} } = options;
  const isRelay = (upstream: Upstream): boolean => names.includes(upstream.name);
  const relays = permitted.sourcesOf(name).filter(isRelay);
  const others = (permitted.candidatesOf(name) ?? all).filter((upstream) => !isRelay(upstream));
  const fallback = afterMs === undefined ? undefined : { afterMs, upstreams: others };
  return {
    before: (call) => {
      if (relays.length === 0) throw new RpcError('key-settings', NO_RELAY);
      call.candidates = relays;
      // What a method without a schema does when it is sent again is not known: one relay after the other, without fallback.
      return sends === true ? sendAtOnce(call, fallback) : undefined;
    },
  };
}

/**
 * Sends a transaction to all candidates, to each once. The first acceptance is the response. An error about the
 * transaction is the response if no upstream accepts it within the usual time of those that have not responded. What
 * they respond later is counted only.
 * @throws RpcError if no upstream has a usable response
 */
async function sendAtOnce(call: Call, fallback: Fallback | undefined): Promise<UpstreamResponse> {
  const transaction = (call.transaction = new RawTransaction(String(call.params[0])));
  transaction.isAtOnce = true;
  const pending = new Set<Sent>();
  try {
    const response = await firstAcceptance(call, fallback, pending);
    transaction.hasError = !transaction.isAccepted;
    return response;
  } catch (error) {
    transaction.hasError = true;
    throw error;
  } finally {
    for (const sent of pending) void finishLate(call, sent);
  }
}

/** @param pending those that have not ended, also when this has a response */
async function firstAcceptance(
  call: Call,
  fallback: Fallback | undefined,
  pending: Set<Sent>,
): Promise<UpstreamResponse> {
  const { router, method, deadline, startedAt } = call;
  let fallbackAt = startedAt + (fallback?.afterMs ?? Infinity);
  if (fallbackAt >= deadline - MIN_ATTEMPT_MS) fallbackAt = Infinity;
  /** An error about the transaction, or that its receipt did not come. */
  let response: UpstreamResponse | undefined;
  let error: unknown;
  await send(call, pending);
  for (;;) {
    // A relay that waits for a receipt has not failed.
    const revealAt = method.group === 'long' && pending.size > 0 ? Infinity : fallbackAt;
    const until = response === undefined || isWaitingForReceipt(call) ? revealAt : usualEnd(call, pending);
    const sent = await firstEnded(pending, until - clock.now());
    if (sent === undefined) {
      if (response !== undefined) return response;
      if (fallback === undefined || fallbackAt === Infinity || deadline - clock.now() < MIN_ATTEMPT_MS) {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- passes on what an attempt threw
        if (error !== undefined && call.failed.length === 0) throw error;
        return responseOfFailures(call);
      }
      fallbackAt = Infinity;
      call.candidates = fallback.upstreams;
      if ((await send(call, pending)) > 0) router.options.metrics.revealed();
      continue;
    }
    let outcome: Outcome;
    try {
      outcome = await sent.outcome;
    } catch (thrown) {
      error ??= thrown;
      continue;
    }
    if (outcome.final || outcome.response !== undefined)
      router.sent.recordTime(sent.upstream, method.name, clock.now() - sent.startedAt);
    if (!outcome.final) {
      call.failed = [...call.failed, outcome];
      // An error without a rule, such as of a simulation, may be about the transaction.
      if (outcome.failure === 'unknown' && outcome.response?.kind === 'error') fallbackAt = Infinity;
      continue;
    }
    fallbackAt = Infinity;
    call.respondingUpstream = sent.upstream;
    if (outcome.hasTransaction === true && outcome.response.kind !== 'error') return outcome.response;
    // An upstream that has the transaction, but not its receipt, is right about it.
    if (response === undefined || outcome.hasTransaction === true) response = outcome.response;
  }
}

/** An upstream has the transaction, and its receipt may come from another one. */
function isWaitingForReceipt({ transaction, method }: Call): boolean {
  return transaction?.isAccepted === true && method.group === 'long';
}

/** Sends the transaction to the candidates, except for those with too many others. @returns how many get it */
async function send(call: Call, pending: Set<Sent>): Promise<number> {
  const { router, rules, attempts } = call;
  const { sent } = router;
  const selected = selectAll(call, clock.now());
  const free = selected.filter((upstream) => sent.unfinishedAt(upstream) < MAX_UNFINISHED);
  const count = Math.max(0, (rules.failsafe?.maxAttempts ?? Infinity) - attempts);
  const all = await sendToAll(call, (free.length > 0 ? free : selected).slice(0, count), call.cancellation);
  for (const one of all) pending.add(one);
  return all.size;
}

/** The time by which the pending upstreams usually respond, by clock.now(). -Infinity: none is pending. */
function usualEnd({ router, method }: Call, pending: ReadonlySet<Sent>): number {
  const ends = [...pending].map(({ upstream, startedAt }) => startedAt + router.sent.usualMs(upstream, method.name));
  return Math.max(-Infinity, ...ends);
}

/** Waits for the outcome of a transaction whose caller has the response. The network stays open until then. */
async function finishLate(call: Call, { upstream, startedAt, outcome }: Sent): Promise<void> {
  const { router, method, context, transaction } = call;
  context?.network.use.begin();
  router.sent.changeUnfinished(upstream, 1);
  try {
    const late = await outcome;
    if (late.final || late.response !== undefined)
      router.sent.recordTime(upstream, method.name, clock.now() - startedAt);
  } catch {
    // The caller has its response, and the attempt is recorded.
  } finally {
    if (transaction?.isAccepted === true) countIgnored(call, undefined, clock.now());
    router.sent.changeUnfinished(upstream, -1);
    context?.network.use.end();
  }
}
