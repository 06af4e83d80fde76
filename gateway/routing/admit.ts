import { capGas, namesGas } from '../spec/prepare-params.ts';
import type { UpstreamCall } from './routed-call.ts';
import type { CallQueue } from './call-queue.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Router } from './router.ts';

/**
 * Asks for a caller: as soon as there is room for one more, and for no more gas than the spec allows.
 * @throws RpcError (rejects with it) when there is no room, or none could answer; Cancelled
 */
export function admitCall(upstreams: Router, queue: CallQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  let admission: Promise<void> | undefined;
  try {
    admission = queue.enter(call.deadline);
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown
    return Promise.reject(error);
  }
  if (admission !== undefined) return admission.then(() => callWithGasCap(upstreams, queue, call));
  return namesGas(call.method, call.params) ? callWithGasCap(upstreams, queue, call) : upstreams.request(call, queue);
}

async function callWithGasCap(upstreams: Router, queue: CallQueue, call: UpstreamCall): Promise<UpstreamResponse> {
  if (!namesGas(call.method, call.params)) return upstreams.request(call, queue);
  let params: readonly unknown[];
  try {
    params = capGas(call.method, call.params, await upstreams.gasLimit.get(call.deadline));
  } catch (error) {
    queue.leave();
    throw error;
  }
  return upstreams.request({ ...call, params, text: JSON.stringify(params) }, queue);
}
