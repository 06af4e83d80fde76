import { precheckCall, type CallContext } from './handle-call.ts';
import type { Call, InvalidItem } from '../jsonrpc/envelope.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { ChargeOutcome } from '../limits/account.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';

/** Items that are charged without yielding: about 1 ms of work. */
const MAX_SYNC_ITEMS = 50;

/**
 * Charges a key for all calls of a body. Free are calls that need no upstream: local responses, notifications and
 * rejected calls.
 * @returns undefined if nothing is charged
 */
export function chargeCalls(
  items: readonly (Call | InvalidItem)[],
  limits: KeyLimits,
  context: CallContext,
): ChargeOutcome | Promise<ChargeOutcome | undefined> | undefined {
  if (items.length > MAX_SYNC_ITEMS) return chargeInTimeSlices(items, limits, context);
  const cost: Cost = { units: 0, byMethod: undefined };
  for (const item of items) addCost(item, cost, limits, context);
  return charge(cost, limits, context);
}

async function chargeInTimeSlices(
  items: readonly (Call | InvalidItem)[],
  limits: KeyLimits,
  context: CallContext,
): Promise<ChargeOutcome | undefined> {
  const cost: Cost = { units: 0, byMethod: undefined };
  for (const item of items) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    addCost(item, cost, limits, context);
  }
  return charge(cost, limits, context);
}

interface Cost {
  units: number;
  byMethod: Map<string, number> | undefined;
}

function addCost(item: Call | InvalidItem, cost: Cost, { methodRates }: KeyLimits, context: CallContext): void {
  const units = 'rejection' in item ? 0 : requestUnitsOf(item, context);
  if (units === 0) return;
  cost.units += units;
  // A log filter is read with eth_getLogs, so the rate of that method applies.
  const method = (item as Call).method === 'eth_getFilterLogs' ? 'eth_getLogs' : (item as Call).method;
  if (methodRates?.has(method) !== true) return;
  cost.byMethod ??= new Map();
  cost.byMethod.set(method, (cost.byMethod.get(method) ?? 0) + units);
}

function charge(
  { units, byMethod }: Cost,
  limits: KeyLimits,
  { limiter }: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> | undefined {
  return units === 0 ? undefined : limiter.charge(limits, { units, byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();

function requestUnitsOf(call: Call, { network, access }: CallContext): number {
  const { id, method } = call;
  const networkMethod = network.methods.get(method);
  if (networkMethod === undefined || (id === undefined && networkMethod.spec.sends !== true)) return 0;
  if (networkMethod.localResult !== undefined || networkMethod.spec.handledBy === 'document') return 0;
  return precheckCall(networkMethod, call, access) === 'none' ? (networkMethod.spec.requestUnits ?? 1) : 0;
}
