import type { FairQueue } from '../admission/fair-queue.ts';
import { gatehouse, type SlotOwner } from '../admission/fair-slots.ts';
import { capGas, namesGas } from '../spec/prepare-params.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { UpstreamCall } from './routed-call.ts';
import type { Router } from './router.ts';

/**
 * Sends one call of a caller: waits for a slot of the network, and caps the gas as the spec requires.
 * @param receiver gets the response, an RpcError if the queue is full or no upstream has a usable one, or Cancelled
 */
export function admitCall(
  router: Router,
  queue: FairQueue,
  call: UpstreamCall,
  receiver: Receiver<UpstreamResponse>,
): void {
  if (!queue.tryEnter(call.caller?.owner ?? gatehouse)) void waitAndSend(router, queue, call, receiver);
  else if (namesGas(call.method, call.params)) void sendWithGasCap(router, queue, call, receiver);
  else router.route(call, queue, receiver);
}

async function waitAndSend(
  router: Router,
  queue: FairQueue,
  call: UpstreamCall,
  receiver: Receiver<UpstreamResponse>,
): Promise<void> {
  try {
    await queue.wait(ownerOf(call), call.deadline - performance.now(), call.caller);
  } catch (error) {
    receiver.failed(error);
    return;
  }
  if (namesGas(call.method, call.params)) await sendWithGasCap(router, queue, call, receiver);
  else router.route(call, queue, receiver);
}

async function sendWithGasCap(
  router: Router,
  queue: FairQueue,
  call: UpstreamCall,
  receiver: Receiver<UpstreamResponse>,
): Promise<void> {
  let params: readonly unknown[];
  try {
    params = capGas(call.method, call.params, await router.gasLimit.get(call.deadline));
  } catch (error) {
    queue.leave(ownerOf(call));
    receiver.failed(error);
    return;
  }
  router.route({ ...call, params, text: JSON.stringify(params) }, queue, receiver);
}

function ownerOf({ caller }: UpstreamCall): SlotOwner {
  return caller?.owner ?? gatehouse;
}
