import type { NetworkResponse } from '../cache/response-cache.ts';
import { isRead } from '../spec/method-group.ts';
import { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { Call, CallContext } from './call.ts';
import { forward } from './forward.ts';
import { verifiedName } from './verification.ts';

/** The name of a call among those of its method: calls of one name have the same response. */
export function nameOf({ text, verification }: Call): string {
  return verification === undefined ? text : verifiedName(text, verification);
}

/**
 * Sends a call of a caller, or joins an identical one in progress.
 * @param name of the call among those of its network
 * @param caller cancels the call, unless others have joined it
 * @throws RpcError, Cancelled (rejects with it)
 */
export function sendCoalesced(
  call: Call,
  name: string,
  { network }: CallContext,
  caller: Cancellation,
  send: (call: Call) => Promise<NetworkResponse>,
): Promise<NetworkResponse> {
  const { deadline, owner, record } = call;
  const participant = { deadline, caller, owner, record };
  return network.coalesced.request(name, participant, (coalesced) => {
    call.coalesced = coalesced;
    call.cancellation = coalesced.cancellation;
    return send(call);
  });
}

/**
 * Sends a call of a caller that no other joins: its method changes something, or little is known of it.
 * @throws RpcError, Cancelled (rejects with it)
 */
export async function sendAlone(call: Call, caller: Cancellation): Promise<NetworkResponse> {
  const cancellation = new Cancellation(call.owner);
  call.cancellation = cancellation;
  // A method that sends transactions is never cancelled.
  if (isRead(call.method)) {
    if (caller.isCancelled) throw caller.reason;
    caller.add(cancellation);
  }
  try {
    return await forward(call);
  } finally {
    caller.delete(cancellation);
  }
}
