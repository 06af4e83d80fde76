import { clock } from '../clock/clock.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { AcceptedTransactions } from '../upstreams/transactions/sent-transactions.ts';
import type { Call } from './call.ts';
import { firstEnded, sendToAll } from './send-to-all.ts';

/** Time for the other upstreams after the first response. */
const OTHERS_MS = 500;

/**
 * The pending transaction count of a sender: the highest of the upstreams that accepted its transactions. No single upstream
 * can raise it above what was accepted, so that a wrong one cannot leave a gap between the nonces of a wallet.
 * @returns undefined if none of them has one
 * @throws Cancelled
 */
export async function pendingCount(
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
    const pending = sendToAll(call, usable, cancellation);
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
