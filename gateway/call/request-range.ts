import type { NetworkResponse } from '../cache/response-cache.ts';
import { weaker, type Proof } from '../jsonrpc/proof.ts';
import { reportCached } from '../observability/call-sink.ts';
import type { RangedMethod, RangeSender } from '../ranges/ranged-method.ts';
import { canCoalesce } from '../spec/method-group.ts';
import { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Call } from './call.ts';
import type { CallContext } from './call-context.ts';
import { ChargedParts } from './charge.ts';
import { forward } from './forward.ts';
import { usableForRange } from './select.ts';
import { verifiedName } from './verification.ts';

/** Sends a call with a range of blocks as it is, or in parts. @throws RpcError, Cancelled (rejects with it) */
export function requestRange(call: Call, context: CallContext, ranges: RangedMethod): Promise<NetworkResponse> {
  const { params, text, deadline, sinks, router, method } = call;
  const { access, caller, reservation, network } = context;
  const { share, bounds } = access;
  const { verification } = call;
  /** The weakest of all parts; undefined: none has arrived. */
  let proof: Proof | undefined;
  const sender: RangeSender = {
    candidatesFor: (lowest, highest) => usableForRange(router, method, lowest, highest),
    send: (partParams, partText, range, partCaller, partSinks) => {
      const part = call.derive(method, partParams, partText);
      part.range = range;
      part.sinks = partSinks;
      const send = (cancellation: Cancellation): Promise<UpstreamResponse> => {
        part.cancellation = cancellation;
        return forward(part);
      };
      if (!canCoalesce(method)) return withCancellation(partCaller, share, send);
      const name = verification === undefined ? partText : verifiedName(partText, verification);
      const onCoalesced = (): void => {
        reportCached(partSinks, 'coalesced');
      };
      const participant = { deadline, caller: partCaller, owner: share, onCoalesced };
      const sent = network.coalesced.request(`${method.name} ${name}`, participant, send);
      return verification === undefined ? sent : sent.then(recordProof);
    },
    fetchBlock: (blockByNumber, block, cancellation) => {
      const fetch = call.derive(blockByNumber, [block, false]);
      // It only divides the range: each part is proven.
      fetch.verification = undefined;
      fetch.cancellation = cancellation;
      return forward(fetch);
    },
  };
  const recordProof = (response: NetworkResponse): NetworkResponse => {
    proof = weaker(proof, response.proof ?? 'no');
    return response;
  };
  const charges = new ChargedParts(call, context);
  const isVerified = verification !== undefined;
  const ranged = { params, text, deadline, caller, share, bounds, reservation, sinks, charges, sender, isVerified };
  const response = ranges.request(ranged);
  return isVerified ? response.then((whole) => ({ ...whole, proof: proof ?? 'no' })) : response;
}

async function withCancellation<Value>(
  caller: Cancellation,
  owner: Cancellation['owner'],
  send: (cancellation: Cancellation) => Promise<Value>,
): Promise<Value> {
  const own = new Cancellation(owner);
  caller.add(own);
  try {
    return await send(own);
  } finally {
    caller.delete(own);
  }
}
