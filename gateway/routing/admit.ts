import { isRead } from '../spec/method-group.ts';
import { capGas, namesGas } from '../spec/prepare-params.ts';
import type { UpstreamCall } from './routed-call.ts';
import type { CallQueue } from './call-queue.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Router } from './router.ts';

/**
 * Sends one call of a caller: waits for a place in the network's queue, and caps the gas as the spec requires.
 * @throws RpcError (rejects with it) if the queue is full or no upstream has a usable response; Cancelled
 */
export function admitCall(router: Router, queue: CallQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  let admission: Promise<void> | undefined;
  try {
    admission = queue.enter(call.deadline, isRead(call.method) ? call.caller : undefined);
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- passes on what `enter` threw
    return Promise.reject(error);
  }
  if (admission !== undefined) return admission.then(() => sendWithGasCap(router, queue, call));
  return namesGas(call.method, call.params) ? sendWithGasCap(router, queue, call) : router.request(call, queue);
}

async function sendWithGasCap(router: Router, queue: CallQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  if (!namesGas(call.method, call.params)) return router.request(call, queue);
  let params: readonly unknown[];
  try {
    params = capGas(call.method, call.params, await router.gasLimit.get(call.deadline));
  } catch (error) {
    queue.leave();
    throw error;
  }
  return router.request({ ...call, params, text: JSON.stringify(params) }, queue);
}
