import type { Call } from '../jsonrpc/envelope.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { Network, NetworkMethod } from '../networks/network.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { rejectedUnits } from '../spec/request-units.ts';
import { precheckCall } from './check-call.ts';

interface Caller {
  readonly network: Network;
  readonly access: KeyAccess;
}

/**
 * The request units of a call, computed once. A call that is rejected, and a notification that is not sent, cost the same
 * small part of a unit.
 */
export function requestUnitsOf(call: Call, method: NetworkMethod | undefined, caller: Caller): number {
  return (call.requestUnits ??= computeUnits(call, method, caller));
}

function computeUnits(call: Call, method: NetworkMethod | undefined, { network, access }: Caller): number {
  if (method === undefined || precheckCall(method, call, access) !== 'none') return rejectedUnits;
  if (call.id === undefined && method.spec.sends !== true) return rejectedUnits;
  if (!readsFilterLogs(method)) return method.unitsOf(call.params);
  const filter = network.filters.logFilterOf(String(call.params[0]), access);
  const logs = network.methods.get(nodeMethods.logs);
  return filter === undefined || logs === undefined ? rejectedUnits : logs.unitsOf([filter]);
}

/** Whether the method reads the logs of a filter, with a request for logs. */
export function readsFilterLogs({ handler }: NetworkMethod): boolean {
  return handler?.by === 'filters' && handler.action === 'logs';
}
