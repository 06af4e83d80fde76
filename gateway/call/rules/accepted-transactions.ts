import { clock } from '../../clock/clock.ts';
import { Cancellation, Cancelled } from '../../upstreams/transport/cancellation.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { AcceptedTransactions } from '../../upstreams/transactions/sent-transactions.ts';
import type { Call } from '../call.ts';
import type { Router } from '../router.ts';
import { firstEnded, sendToAll } from '../send-to-all.ts';
import type { Rule } from './rule.ts';

/** Time for the other upstreams after the first response. */
const OTHERS_MS = 500;

/**
 * Lookups of a transaction, and of the pending state of a sender, go first to the upstream that accepted the transaction. A
 * pending count is that of all upstreams that accepted some of the sender.
 */
export function acceptedTransactions({ tracks }: MethodSpec, router: Router): Rule<Call> | undefined {
  // With one upstream, nothing is recorded.
  return tracks === undefined || router.all.length === 1 ? undefined : { before: preferAccepting };
}

function preferAccepting(call: Call): Promise<UpstreamResponse | undefined> | undefined {
  const { router, method, params, verification } = call;
  call.preferred = router.sent.upstreamFor(method, params);
  if (call.preferred === undefined || verification !== undefined) return undefined;
  const accepted = router.sent.acceptedFor(method, params);
  return accepted && pendingCount(call, accepted);
}

/**
 * The pending transaction count of a sender: the highest of the upstreams that accepted its transactions. No single upstream
 * can raise it above what was accepted, so that a wrong one cannot leave a gap between the nonces of a wallet.
 * @returns undefined if none of them has one
 * @throws Cancelled
 */
async function pendingCount(
  call: Call,
  { upstreams, nonce }: AcceptedTransactions,
): Promise<UpstreamResponse | undefined> {
  const { candidates } = call;
  const now = clock.now();
  const usable = upstreams.filter(
    (one) =>
      candidates?.includes(one) !== false &&
      one.drain === undefined &&
      one.circuit.isClosed &&
      !one.isOnOtherChain &&
      one.tryAcquireCall(now),
  );
  const cancellation = new Cancellation(call.owner);
  call.cancellation?.add(cancellation);
  if (call.cancellation?.isCancelled === true) cancellation.cancel();
  try {
    const pending = await sendToAll(call, usable, cancellation);
    const counts: bigint[] = [];
    let until = Infinity;
    for (;;) {
      const sent = pending.size === 0 ? undefined : await firstEnded(pending, until - clock.now());
      if (sent === undefined) break;
      try {
        const outcome = await sent.outcome;
        if (!outcome.final) call.failed = [...call.failed, outcome];
        else if (outcome.response.kind === 'result') counts.push(BigInt(outcome.response.result as string));
      } catch (error) {
        if (error instanceof Cancelled) throw error;
        continue; // another upstream may have a response
      }
      if (until === Infinity && counts.length > 0) until = clock.now() + OTHERS_MS;
    }
    return counts.length === 0 ? undefined : { kind: 'result', result: `0x${limited(counts, nonce).toString(16)}` };
  } finally {
    cancellation.cancel();
    call.cancellation?.delete(cancellation);
  }
}

/** The highest count that two upstreams agree on, or up to which transactions were accepted. */
function limited(counts: readonly bigint[], nonce: bigint): bigint {
  const [highest = 0n, second = 0n] = counts.toSorted((one, other) => (one < other ? 1 : -1));
  const accepted = nonce + 1n;
  const limit = second > accepted ? second : accepted;
  return highest > limit ? limit : highest;
}
