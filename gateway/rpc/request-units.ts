import type { Call } from '../jsonrpc/envelope.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { Network, NetworkMethod } from '../networks/network.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { rejectedUnits } from '../spec/request-units.ts';
import { checkCall, precheckCall } from './check-call.ts';

interface Caller {
  readonly network: Network;
  readonly access: KeyAccess;
  /** Undefined over HTTP. */
  readonly subscriptions?: object;
}

/**
 * The request units of a call, computed once. A call that is rejected, and a notification that is not sent, cost the same
 * small part of a unit.
 */
export function requestUnitsOf(call: Call, method: NetworkMethod | undefined, caller: Caller): number {
  return (call.requestUnits ??= computeUnits(call, method, caller));
}

function computeUnits(call: Call, method: NetworkMethod | undefined, caller: Caller): number {
  const { network, access, subscriptions } = caller;
  if (method === undefined || precheckCall(method, call, access) !== 'none') return rejectedUnits;
  if (call.id === undefined && method.spec.sends !== true) return rejectedUnits;
  if (method.handler?.by === 'socket' && subscriptions === undefined) return rejectedUnits;
  if (method.handler === undefined || !readsFilterLogs(method)) return method.unitsOf(call.params);
  const filter = network.filters.logFilterOf(String(call.params[0]), access);
  const logs = network.methods.get(nodeMethods.logs);
  if (filter === undefined || logs === undefined) return rejectedUnits;
  return checkCall(logs, [filter], undefined, access) === 'none' ? logs.unitsOf([filter]) : rejectedUnits;
}

/** Whether the method reads the logs of a filter, with a request for logs. */
export function readsFilterLogs({ handler }: NetworkMethod): boolean {
  return handler?.by === 'filters' && handler.action === 'logs';
}
