import type { MethodSpec } from '../../spec/method-spec.ts';
import type { KeyPermissions } from './permissions.ts';

/** Checks the calls of a key: methods and contracts. Not responsible for the request around them (entry permissions). */
export class CallPermissions {
  /** Names and namespaces in one set: a name has `_` or `.`, a namespace has neither. */
  readonly #methods: ReadonlySet<string> | undefined;
  /** In lower case. */
  readonly #contracts: ReadonlySet<string> | undefined;

  constructor({ methods, contracts }: KeyPermissions) {
    if (methods !== undefined) this.#methods = new Set(methods);
    if (contracts !== undefined) this.#contracts = new Set(contracts.map((address) => address.toLowerCase()));
  }

  allowMethod({ name, namespace }: MethodSpec): boolean {
    return this.#methods === undefined || this.#methods.has(name) || this.#methods.has(namespace);
  }

  /**
   * Whether every address in the call is allowed. A missing address is rejected: it means all contracts in `eth_getLogs`,
   * and the caller's own code in `eth_call`. State overrides are rejected because they replace code. A pass-through
   * method may have an address anywhere in its parameters, so its own name must be in `methods`.
   */
  allowContract({ name, contractAt, isPassThrough }: MethodSpec, params: readonly unknown[]): boolean {
    const allowed = this.#contracts;
    if (allowed === undefined) return true;
    if (contractAt === undefined) return isPassThrough !== true || this.#methods?.has(name) === true;
    const { param, field, overrides } = contractAt;
    if (overrides !== undefined && Object.keys(params[overrides] ?? {}).length > 0) return false;
    const given = params[param];
    const named = field === undefined ? given : (given as Record<string, unknown> | null | undefined)?.[field];
    const addresses: readonly unknown[] = Array.isArray(named) ? named : [named];
    return (
      addresses.length > 0 &&
      addresses.every((address) => typeof address === 'string' && allowed.has(address.toLowerCase()))
    );
  }
}
