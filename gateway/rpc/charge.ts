import type { CallContext } from './call-context.ts';
import type { Call, InvalidItem } from '../jsonrpc/envelope.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { ChargeOutcome } from '../limits/account.ts';
import type { Shortage } from '../limits/limit-state.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { rejectedUnits, roundUnits } from '../spec/request-units.ts';
import { readsFilterLogs, requestUnitsOf } from './request-units.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';

/** Items that are charged without yielding: about 1 ms of work. */
const MAX_SYNC_ITEMS = 50;

/** Charges a key for all calls of a body. */
export function chargeCalls(
  items: readonly (Call | InvalidItem)[],
  limits: KeyLimits,
  context: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> {
  if (items.length > MAX_SYNC_ITEMS) return chargeInTimeSlices(items, limits, context);
  const cost: Cost = { units: 0, byMethod: undefined };
  for (const item of items) addCost(item, cost, limits, context);
  return charge(cost, limits, context);
}

async function chargeInTimeSlices(
  items: readonly (Call | InvalidItem)[],
  limits: KeyLimits,
  context: CallContext,
): Promise<ChargeOutcome> {
  const cost: Cost = { units: 0, byMethod: undefined };
  for (const item of items) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    addCost(item, cost, limits, context);
  }
  return charge(cost, limits, context);
}

/** Charges a key for a body that is rejected as a whole. It is rejected in any case, so nothing waits for Redis. */
export function chargeRejected({ access: { limits }, limiter }: CallContext): void {
  if (limits?.isCharged === true) void limiter.charge(limits, { units: rejectedUnits, byMethod: noMethods });
}

/** The limit that will reject a body with at least one unit, as far as is known without Redis. */
export function exhaustedLimit({ access: { limits }, limiter }: CallContext): Shortage | undefined {
  return limits?.isCharged === true ? limiter.shortageOf(limits) : undefined;
}

interface Cost {
  units: number;
  byMethod: Map<string, number> | undefined;
}

function addCost(item: Call | InvalidItem, cost: Cost, { methodRates }: KeyLimits, context: CallContext): void {
  if ('rejection' in item) {
    cost.units += rejectedUnits;
    return;
  }
  const networkMethod = context.network.methods.get(item.method);
  const units = requestUnitsOf(item, networkMethod, context);
  cost.units += units;
  if (methodRates === undefined) return;
  const method = networkMethod !== undefined && readsFilterLogs(networkMethod) ? nodeMethods.logs : item.method;
  if (!methodRates.has(method)) return;
  cost.byMethod ??= new Map();
  cost.byMethod.set(method, roundUnits((cost.byMethod.get(method) ?? 0) + units));
}

function charge(
  { units, byMethod }: Cost,
  limits: KeyLimits,
  { limiter }: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> {
  return limiter.charge(limits, { units: roundUnits(units), byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();
