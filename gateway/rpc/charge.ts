import { precheckCall, type CallContext } from './handle-call.ts';
import type { Call, InvalidItem } from '../jsonrpc/envelope.ts';
import type { NetworkMethod } from '../networks/network.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { ChargeOutcome } from '../limits/account.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
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
  if ('rejection' in item) return;
  const networkMethod = context.network.methods.get(item.method);
  const units = networkMethod === undefined ? 0 : requestUnitsOf(item, networkMethod, context);
  if (units === 0) return;
  cost.units += units;
  if (methodRates === undefined) return;
  // A log filter is read with a request for logs, so the rate of that method applies.
  const handler = networkMethod?.handler;
  const method = handler?.by === 'filters' && handler.action === 'logs' ? nodeMethods.logs : item.method;
  if (!methodRates.has(method)) return;
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

function requestUnitsOf(call: Call, method: NetworkMethod, { access }: CallContext): number {
  const { spec, localResult, handler } = method;
  if (call.id === undefined && spec.sends !== true) return 0;
  if (localResult !== undefined || handler?.by === 'document') return 0;
  return precheckCall(method, call, access) === 'none' ? (spec.requestUnits ?? 1) : 0;
}
