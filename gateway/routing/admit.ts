import type { FairQueue } from '../admission/fair-queue.ts';
import { gatehouse, type SlotOwner } from '../admission/fair-slots.ts';
import { capGas, namesGas } from '../spec/prepare-params.ts';
import type { UpstreamCall } from './routed-call.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Router } from './router.ts';

/**
 * Sends one call of a caller: waits for a slot of the network, and caps the gas as the spec requires.
 * @throws RpcError (rejects with it) if the queue is full or no upstream has a usable response; Cancelled
 */
export function admitCall(router: Router, queue: FairQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  const owner = ownerOf(call);
  if (!queue.tryEnter(owner)) {
    const admission = queue.wait(owner, call.deadline - performance.now(), call.caller);
    return admission.then(() => sendWithGasCap(router, queue, call));
  }
  return namesGas(call.method, call.params) ? sendWithGasCap(router, queue, call) : router.request(call, queue);
}

async function sendWithGasCap(router: Router, queue: FairQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  if (!namesGas(call.method, call.params)) return router.request(call, queue);
  let params: readonly unknown[];
  try {
    params = capGas(call.method, call.params, await router.gasLimit.get(call.deadline));
  } catch (error) {
    queue.leave(ownerOf(call));
    throw error;
  }
  return router.request({ ...call, params, text: JSON.stringify(params) }, queue);
}

function ownerOf({ caller }: UpstreamCall): SlotOwner {
  return caller?.owner ?? gatehouse;
}
