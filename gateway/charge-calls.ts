import { objectionTo, type CallContext } from './handle-call.ts';
import type { Call, NotACall } from './jsonrpc/envelope.ts';
import type { KeyLimits } from './keys/key-access.ts';
import type { Verdict } from './limits/account.ts';

/**
 * Charges a key for all that was sent at once. What no upstream is asked for is free: local answers, notifications,
 * calls that are refused.
 * @returns undefined where there is nothing to charge
 */
export function chargeCalls(
  items: readonly (Call | NotACall)[],
  limits: KeyLimits,
  context: CallContext,
): Verdict | Promise<Verdict> | undefined {
  let weight = 0;
  let byMethod: Map<string, number> | undefined;
  for (const item of items) {
    const own = 'refusal' in item ? 0 : weightOf(item, context);
    if (own === 0) continue;
    weight += own;
    // What it finds is asked as that.
    const method = (item as Call).method === 'eth_getFilterLogs' ? 'eth_getLogs' : (item as Call).method;
    if (limits.methodRates?.has(method) !== true) continue;
    byMethod ??= new Map();
    byMethod.set(method, (byMethod.get(method) ?? 0) + own);
  }
  return weight === 0 ? undefined : context.limiter.charge(limits, { weight, byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();

function weightOf(call: Call, { network, access }: CallContext): number {
  const { id, method } = call;
  const served = network.methods.get(method);
  if (served === undefined || (id === undefined && served.spec.sends !== true)) return 0;
  if (served.localResult !== undefined || served.spec.answer === 'document') return 0;
  return objectionTo(served, call, access) === 'none' ? (served.spec.weight ?? 1) : 0;
}
