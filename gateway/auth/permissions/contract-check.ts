import type { ParamsCheck } from './call-permissions.ts';

/**
 * Returns a check that every address in a call is one of `contracts`. A missing address is rejected: it means all
 * contracts in `eth_getLogs`, and the caller's own code in `eth_call`. State overrides are rejected because they replace
 * code. A pass-through method may have an address anywhere in its parameters, so its own name must be in `methods`.
 */
export function contractCheck(contracts: readonly string[], methods: readonly string[] = []): ParamsCheck {
  const allowed = new Set(contracts.map((address) => address.toLowerCase()));
  const named = new Set(methods);
  return ({ name, contractAt, isPassThrough }, params) => {
    if (contractAt === undefined) return isPassThrough !== true || named.has(name);
    const { param, field, keys, overrides } = contractAt;
    if (overrides !== undefined && Object.keys(params[overrides] ?? {}).length > 0) return false;
    const given = params[param];
    const found = field === undefined ? given : (given as Record<string, unknown> | null | undefined)?.[field];
    const listed: readonly unknown[] = Array.isArray(found) ? found : [found];
    const addresses = keys === true ? Object.keys(given ?? {}) : listed;
    return (
      addresses.length > 0 &&
      addresses.every((address) => typeof address === 'string' && allowed.has(address.toLowerCase()))
    );
  };
}
