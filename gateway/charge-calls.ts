import { objectionTo, type CallContext } from './handle-call.ts';
import type { Call, NotACall } from './jsonrpc/envelope.ts';
import type { KeyLimits } from './keys/key-access.ts';
import type { Verdict } from './limits/account.ts';
import { slices } from './slices.ts';

/** So many calls are looked at in one go: a millisecond at most. */
const AT_ONCE = 50;

/**
 * Charges a key for all that was sent at once. What no upstream is asked for is free: local answers, notifications,
 * calls that are refused.
 * @returns undefined where there is nothing to charge
 */
export function chargeCalls(
  items: readonly (Call | NotACall)[],
  limits: KeyLimits,
  context: CallContext,
): Verdict | Promise<Verdict | undefined> | undefined {
  if (items.length > AT_ONCE) return chargeInSlices(items, limits, context);
  const bill: Bill = { weight: 0, byMethod: undefined };
  for (const item of items) add(item, bill, limits, context);
  return charge(bill, limits, context);
}

async function chargeInSlices(
  items: readonly (Call | NotACall)[],
  limits: KeyLimits,
  context: CallContext,
): Promise<Verdict | undefined> {
  const bill: Bill = { weight: 0, byMethod: undefined };
  for (const item of items) {
    const pause = slices.next();
    if (pause !== undefined) await pause;
    add(item, bill, limits, context);
  }
  return charge(bill, limits, context);
}

interface Bill {
  weight: number;
  byMethod: Map<string, number> | undefined;
}

function add(item: Call | NotACall, bill: Bill, { methodRates }: KeyLimits, context: CallContext): void {
  const own = 'refusal' in item ? 0 : weightOf(item, context);
  if (own === 0) return;
  bill.weight += own;
  // What it finds is asked as that.
  const method = (item as Call).method === 'eth_getFilterLogs' ? 'eth_getLogs' : (item as Call).method;
  if (methodRates?.has(method) !== true) return;
  bill.byMethod ??= new Map();
  bill.byMethod.set(method, (bill.byMethod.get(method) ?? 0) + own);
}

function charge(
  { weight, byMethod }: Bill,
  limits: KeyLimits,
  { limiter }: CallContext,
): Verdict | Promise<Verdict> | undefined {
  return weight === 0 ? undefined : limiter.charge(limits, { weight, byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();

function weightOf(call: Call, { network, access }: CallContext): number {
  const { id, method } = call;
  const served = network.methods.get(method);
  if (served === undefined || (id === undefined && served.spec.sends !== true)) return 0;
  if (served.localResult !== undefined || served.spec.answer === 'document') return 0;
  return objectionTo(served, call, access) === 'none' ? (served.spec.weight ?? 1) : 0;
}
