import { precheckCall, type CallContext } from './handle-call.ts';
import type { Call, InvalidItem } from '../jsonrpc/envelope.ts';
import type { KeyLimits } from '../auth/key-access.ts';
import type { ChargeOutcome } from '../limits/account.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';

/** So many calls are looked at in one go: a millisecond at most. */
const MAX_SYNC_ITEMS = 50;

/**
 * Charges a key for all that was sent at once. What no upstream is asked for is free: local answers, notifications,
 * calls that are refused.
 * @returns undefined where there is nothing to charge
 */
export function chargeCalls(
  items: readonly (Call | InvalidItem)[],
  limits: KeyLimits,
  context: CallContext,
): ChargeOutcome | Promise<ChargeOutcome | undefined> | undefined {
  if (items.length > MAX_SYNC_ITEMS) return chargeSliced(items, limits, context);
  const cost: Cost = { units: 0, byMethod: undefined };
  for (const item of items) addCost(item, cost, limits, context);
  return charge(cost, limits, context);
}

async function chargeSliced(
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
  // What it finds is asked as that.
  const method = (item as Call).method === 'eth_getFilterLogs' ? 'eth_getLogs' : (item as Call).method;
  if (methodRates?.has(method) !== true) return;
  cost.byMethod ??= new Map();
  cost.byMethod.set(method, (cost.byMethod.get(method) ?? 0) + units);
}

function charge(
  { units: weight, byMethod }: Cost,
  limits: KeyLimits,
  { limiter }: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> | undefined {
  return weight === 0 ? undefined : limiter.charge(limits, { units: weight, byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();

function requestUnitsOf(call: Call, { network, access }: CallContext): number {
  const { id, method } = call;
  const networkMethod = network.methods.get(method);
  if (networkMethod === undefined || (id === undefined && networkMethod.spec.sends !== true)) return 0;
  if (networkMethod.localResult !== undefined || networkMethod.spec.handledBy === 'document') return 0;
  return precheckCall(networkMethod, call, access) === 'none' ? (networkMethod.spec.requestUnits ?? 1) : 0;
}
