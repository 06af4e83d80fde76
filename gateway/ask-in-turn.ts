import { capGas, namesGas } from './spec/prepare-params.ts';
import type { AskedCall } from './upstream/asking.ts';
import type { CallQueue } from './upstream/call-queue.ts';
import type { Reply } from './upstream/reply.ts';
import type { Upstreams } from './upstream/upstreams.ts';

/**
 * Asks for a caller: as soon as there is room for one more, and for no more gas than the spec allows.
 * @throws RpcError (rejects with it) when there is no room, or none could answer; Cancelled
 */
export function askInTurn(upstreams: Upstreams, queue: CallQueue, call: AskedCall): Promise<Reply> {
  let room: Promise<void> | undefined;
  try {
    room = queue.enter(call.deadline);
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown
    return Promise.reject(error);
  }
  if (room !== undefined) return room.then(() => askWithGas(upstreams, queue, call));
  return namesGas(call.method, call.params) ? askWithGas(upstreams, queue, call) : upstreams.ask(call, queue);
}

async function askWithGas(upstreams: Upstreams, queue: CallQueue, call: AskedCall): Promise<Reply> {
  if (!namesGas(call.method, call.params)) return upstreams.ask(call, queue);
  let params: readonly unknown[];
  try {
    params = capGas(call.method, call.params, await upstreams.gasLimit.get(call.deadline));
  } catch (error) {
    queue.leave();
    throw error;
  }
  return upstreams.ask({ ...call, params, text: JSON.stringify(params) }, queue);
}
