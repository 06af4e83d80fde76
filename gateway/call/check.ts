import type { KeyAccess } from '../auth/key-access.ts';
import { beyondBound, methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import type { Call, CallContext, NetworkMethod } from './call.ts';

/** @throws RpcError if the network does not serve the method, or the call is rejected by its key, its schema or a bound */
export function checkCall(call: Call, { network, access, isOperator }: CallContext): void {
  const { served, name } = call;
  if (served === undefined || served === network.otherMethods) {
    network.unserved.record(name);
    // Only operators get the line of the network file that would open the method.
    throw methodNotFound(name, isOperator && network.unserved.hintFor(name));
  }
  const rejection = checkOnce(call, access);
  if (rejection !== 'none') throw rejection;
}

/** Checks a call's parameters, the key's permissions and the bounds for it, once. Returns the rejection, or `none`. */
export function checkOnce(call: Call, access: KeyAccess): RpcError | 'none' {
  const { served, params, originalParamsText } = call;
  if (served === undefined) return 'none';
  if (call.checked === undefined) {
    call.checked = checkParams(served, params, originalParamsText, access);
    call.originalParamsText = undefined;
  }
  return call.checked;
}

/** @param originalText the parameters as the caller wrote them, if they may have duplicated members */
export function checkParams(
  { spec, check, checkBounds }: NetworkMethod,
  params: readonly unknown[],
  originalText: string | undefined,
  { calls: permissions, bounds }: KeyAccess,
): RpcError | 'none' {
  const forbidden = permissions?.forbidMethod(spec);
  if (forbidden !== undefined)
    return new RpcError(permissions?.rejection ?? 'key-settings', undefined, { rule: forbidden });
  const problem = check(params, originalText);
  if (problem !== undefined) return new RpcError('invalid-params', problem);
  const rule = permissions?.forbidParams(spec, params);
  if (rule !== undefined) return new RpcError('key-settings', undefined, { rule });
  const excess = checkBounds?.(params, bounds);
  return excess === undefined ? 'none' : beyondBound(excess);
}

/**
 * The request units of a call, computed once. A call that is rejected, and a notification that is not sent, cost the same
 * small part of a unit.
 */
export function requestUnitsOf(call: Call, context: CallContext): number {
  return (call.requestUnits ??= computeUnits(call, context));
}

function computeUnits(call: Call, { network, access, subscriptions }: CallContext): number {
  const { served, params } = call;
  const { rejected } = network.otherUnits;
  if (served === undefined || served === network.otherMethods) return rejected;
  if (checkOnce(call, access) !== 'none') return rejected;
  if (call.id === undefined && served.spec.sends !== true) return rejected;
  const { handler } = served;
  if (handler === undefined || handler.by === 'local') return served.unitsOf(params);
  if (handler.by === 'socket' && subscriptions === undefined) return rejected;
  if (!readsFilterLogs(served)) return served.unitsOf(params);
  const id = String(params[0]);
  const logs = network.methods.get(nodeMethods.logs);
  // That of the request for logs is charged later, by its parts.
  if (network.filters.isElsewhere(id)) return logs?.unitsOf([{}]) ?? rejected;
  const filter = network.filters.logFilterOf(id, access);
  if (filter === undefined || logs === undefined) return rejected;
  return checkParams(logs, [filter], undefined, access) === 'none' ? logs.unitsOf([filter]) : rejected;
}

/** Whether the method reads the logs of a filter, with a request for logs. */
export function readsFilterLogs({ handler }: NetworkMethod): boolean {
  return handler?.by === 'filters' && handler.action === 'logs';
}
