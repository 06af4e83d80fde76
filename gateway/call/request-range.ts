import type { NetworkResponse } from '../cache/response-cache.ts';
import { weaker, type Proof } from '../jsonrpc/proof.ts';
import type { RangeSender } from '../ranges/range-run.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import { canCoalesce } from '../spec/method-group.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { complete } from '../upstreams/transport/flowing-result.ts';
import type { Call, CallContext } from './call.ts';
import { ChargedParts } from './charge.ts';
import { forward } from './forward.ts';
import { usableForRange } from './select.ts';
import { nameOf, sendAlone, sendCoalesced } from './send.ts';

/** Sends a call with a range of blocks as it is, or in parts. @throws RpcError, Cancelled (rejects with it) */
export function requestRange(call: Call, context: CallContext, ranges: RangedMethod): Promise<NetworkResponse> {
  const { params, text, deadline, record, router, method } = call;
  const { access, caller, reservation } = context;
  const { account, bounds } = access;
  const isVerified = call.verification !== undefined;
  /** The weakest of all parts; undefined: none has arrived. */
  let proof: Proof | undefined;
  const send = async (part: Call, partCaller: Cancellation): Promise<NetworkResponse> => {
    if (!canCoalesce(method)) return sendAlone(part, partCaller);
    const response = await sendCoalesced(part, nameOf(part), context, partCaller, forward);
    if (isVerified) proof = weaker(proof, complete(response).proof ?? 'no');
    return response;
  };
  const sender: RangeSender = {
    candidatesFor: (lowest, highest) => usableForRange(router, method, lowest, highest),
    sendWhole: (range) => {
      const whole = call.derive(method, params, text);
      whole.canFlow = call.canFlow;
      whole.range = range;
      whole.record = record;
      return send(whole, caller);
    },
    sendPart: (partParams, partText, range, partCaller, ofPart) => {
      const part = call.derive(method, partParams, partText);
      part.range = range;
      part.record = ofPart;
      return send(part, partCaller).then(complete);
    },
    fetchBlock: (blockByNumber, block, cancellation) => {
      const fetch = call.derive(blockByNumber, [block, false]);
      // It only divides the range: each part is proven.
      fetch.verification = undefined;
      fetch.cancellation = cancellation;
      return forward(fetch).then(complete);
    },
  };
  const charges = new ChargedParts(call, context);
  const ranged = { params, text, deadline, caller, account, bounds, reservation, record, charges, sender, isVerified };
  const response = ranges.request(ranged);
  return isVerified ? response.then((whole) => ({ ...whole, proof: proof ?? 'no' })) : response;
}
