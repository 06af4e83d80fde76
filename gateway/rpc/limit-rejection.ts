import type { Call, InvalidItem } from '../jsonrpc/envelope.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Shortage } from '../limits/limit-state.ts';
import { rejectedUnits, roundUnits } from '../spec/request-units.ts';
import type { CallContext } from './call-context.ts';
import { requestUnitsOf } from './request-units.ts';

/** The rejection of a body by a limit of its key. An explanation gets each call with the units that it would cost. */
export function limitRejection(
  items: readonly (Call | InvalidItem)[],
  shortage: Shortage,
  context: CallContext,
): RpcError {
  const { reason, limit, waitS, allowance } = shortage;
  const { network, observers } = context;
  if (observers?.limited !== undefined) {
    for (const item of items) {
      const method = 'rejection' in item ? undefined : network.methods.get(item.method);
      const units = 'rejection' in item ? rejectedUnits : requestUnitsOf(item, method, context);
      observers.limited(method?.spec.name ?? 'other', reason, units, limit);
    }
  }
  const { message } = new RpcError(reason);
  return new RpcError(reason, message + detailOf(shortage), {
    retryAfterS: waitS,
    ...(allowance !== undefined && { allowance }),
  });
}

/** Why a quota rejects a request although it has units left; empty if it has none, and for rates. */
function detailOf({ reason, units, available, allowance, waitS }: Shortage): string {
  const remaining = roundUnits(available);
  if (reason === 'rate-limit' || allowance === undefined || (remaining <= 0 && waitS !== undefined)) return '';
  const cost = `: the request costs ${roundUnits(units)} units, and`;
  if (waitS === undefined) return `${cost} the limit is ${allowance.limit}`;
  return `${cost} ${remaining} of ${allowance.limit} remain`;
}
